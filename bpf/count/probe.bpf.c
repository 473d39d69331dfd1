// SPDX-License-Identifier: GPL-2.0
/*
 * Hits of probes in user code, in the counters that tracepoints have as well.
 *
 * The kernel runs these programs in the task that meets the probe, on a CPU that the task cannot
 * leave meanwhile, and skips none.  A program may be preempted: the one atomic addition counts for
 * the task that runs then, which is this one again.  Their variables take less than 64 bytes, so
 * that they are on the task's stack: hits.bpf.c.
 *
 * All probes share the programs; the cookie of an attachment has the counter in its low bits.  A
 * helper process closes attachments that have ended, and until then the kernel still runs them:
 * only the counter's current cookie counts.
 *
 * The kernel follows 64 calls of a thread to their returns and gives up deeper ones without a
 * trace, so a probe of returns has a second program at the function's entry, which detects them.
 */
#include "hit.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define RETURNS_MAX 64		/* the kernel's MAX_URETPROBE_DEPTH */

__u64 probe_cookies[ABI_TRACEPOINTS] = {};
/* Returns that the kernel gave up, of measured processes and of all. */
__u64 probe_deep[ABI_TRACEPOINTS] = {}, probe_deep_all[ABI_TRACEPOINTS] = {};

static __always_inline bool probe_is_current(u64 cookie)
{
	return probe_cookies[cookie & (ABI_TRACEPOINTS - 1)] == cookie;
}

SEC("uprobe")
int on_probe(struct pt_regs *ctx)
{
	u64 cookie = bpf_get_attach_cookie(ctx);

	if (probe_is_current(cookie))
		hit(cookie);
	return 0;
}

SEC("uprobe")
int on_probe_enter(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u64 cookie = bpf_get_attach_cookie(ctx);
	u32 cpu = bpf_get_smp_processor_id(), slot = cookie & (ABI_TRACEPOINTS - 1);
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (BPF_CORE_READ(task, utask, depth) < RETURNS_MAX || !probe_is_current(cookie) || !c)
		return 0;
	if (index_lookup(task_process(task)))
		__sync_fetch_and_add(&probe_deep[slot], 1);
	__sync_fetch_and_add(&probe_deep_all[slot], 1);
	/* Readers of this CPU's counts ask the daemon from now on, which knows the PMCs. */
	__sync_fetch_and_or(&c->lost, ABI_LOST_SLICE);
	return 0;
}

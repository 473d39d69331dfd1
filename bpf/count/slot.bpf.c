// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the hits of one tracepoint, whichever it is.  Every tracepoint that is counted gets an
 * instance of its own, so that the kernel's number of runs that it skipped belongs to one
 * tracepoint: tracepoint.bpf.c.  An instance loads one of the two programs.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "count_abi.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 slot = 0;
__u32 slot_over = 0;	/* the slot is another instance's; this one is being detached */

/* The map of switch.bpf.c. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_cpu);
} cpus SEC(".maps");

/* No other run begins on the CPU before this one ends, so that nothing needs to be atomic. */
static __always_inline void slot_hit(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (c)
		c->hits[slot & (ABI_TRACEPOINTS - 1)]++;
}

SEC("?raw_tp")
int on_slot(void *ctx)
{
	slot_hit();
	return 0;
}

/* The beginning or the end of a system call: perf's event, whose other users see the hit. */
SEC("?tp")
int on_slot_call(void *ctx)
{
	if (!slot_over)
		slot_hit();
	return 1;
}

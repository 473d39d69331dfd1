// SPDX-License-Identifier: GPL-2.0
/*
 * The program of overflows: one record, with the address and on request the call chain of the
 * interrupted side, or of both.  All sampling PMCs share it; a number in the event's attributes,
 * which inherited events have as well, identifies the PMC.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "number.bpf.h"
#include "ring.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct abi_sampler samplers[ABI_SAMPLERS] = {};

const volatile bool nested = false;
struct abi_level level = {};

struct rings_map rings SEC(".maps");

/* kernel.perf_event_max_stack, which cannot change while this is loaded. */
const volatile __u32 max_stack = 127;

#define MAX_BYTES (2 * ABI_CHAIN_MAX * 8)

/* Each side has room for one address more than is kept. */
struct scratch {
	struct abi_rec rec;
	__u64 pc[2 * ABI_CHAIN_MAX + 1];
};
/* One per CPU: overflow programs never nest, because the kernel skips the inner one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/*
 * Reads one side; *cut: callers are missing.  To find out, it requests one address more than
 * needed.  If the kernel itself ends a chain, it does not report whether that was the last caller.
 */
static __always_inline u64 chain(void *ctx, void *to, u32 depth, u64 flags, bool *cut)
{
	u64 want = (u64)depth + 1, got;
	long n;

	/* Compared right before its use: Linux 6.1 loses the bound across branches. */
	barrier_var(want);
	if (want > ABI_CHAIN_MAX + 1)
		want = ABI_CHAIN_MAX + 1;
	n = bpf_get_stack(ctx, to, want * 8, flags);
	got = n > 0 ? (u64)n / 8 : 0;
	*cut = n < 0 || got > depth || got >= max_stack;
	return got > depth ? depth : got;
}

/* Fills in the record's addresses. */
static __always_inline u32 fill(struct bpf_perf_event_data *ctx, struct scratch *s,
				const struct abi_sampler *of, bool user)
{
	u32 depth = of->depth;
	bool cut = false;
	u64 n = 0;

	s->pc[0] = !user && of->hides_kernel ? ABI_PC_KERNEL : PT_IP(ctx);
	if (!depth)
		return 1;
	if (user)
		n = chain(ctx, s->pc, depth, BPF_F_USER_STACK, &cut);
	else if (!of->hides_kernel)
		n = chain(ctx, s->pc, depth, 0, &cut);
	if (!n)
		n = 1;
	if (of->both_sides && !user) {
		s->rec.flags |= cut ? ABI_REC_CUT_INSIDE : 0;
		barrier_var(n);
		if (n > ABI_CHAIN_MAX)
			n = ABI_CHAIN_MAX;
		n += chain(ctx, s->pc + n, depth, BPF_F_USER_STACK, &cut);
	}
	s->rec.flags |= cut ? ABI_REC_CUT : 0;
	return n;
}

/* The PMC of the event; NULL: it was released before the overflow was handled. */
static __always_inline struct abi_sampler *sampler_of(u32 id)
{
	struct abi_sampler *s = &samplers[id % ABI_SAMPLERS];

	return id && s->id == id ? s : NULL;
}

/* True if the kernel pauses the event because of its rate; its further counts are lost. */
static __always_inline bool is_paused(struct perf_event *event)
{
	return BPF_CORE_READ(event, hw.interrupts) == ~0ull;
}

/* Stores the sampled thread's numbers; the idle task is 0 in every namespace. */
static __always_inline void put_numbers(struct abi_rec *rec)
{
	u64 id = bpf_get_current_pid_tgid();
	struct task_struct *task;

	rec->pid = id >> 32;
	rec->tid = (u32)id;
	if (!nested || !rec->tid)
		return;
	task = (void *)bpf_get_current_task();
	rec->pid = task_process_nested(task);
	rec->tid = task_thread(task);
	if (!rec->pid || !rec->tid)
		rec->pid = rec->tid = ABI_PID_OUTSIDE;
}

SEC("perf_event")
int on_overflow(struct bpf_perf_event_data *ctx)
{
	u32 zero = 0, cpu = bpf_get_smp_processor_id(), n, bytes;
	struct scratch *s = bpf_map_lookup_elem(&scratch, &zero);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct perf_event *event = BPF_CORE_READ((struct bpf_perf_event_data_kern *)ctx, event);
	u32 pmc = (u32)BPF_CORE_READ(event, attr.sig_data);
	struct abi_sampler *of = sampler_of(pmc);
	bool user = !(PT_IP(ctx) >> 63);

	if (!of)
		return 0;
	__sync_fetch_and_add(&of->count.samples, 1);
	if (is_paused(event))
		__sync_fetch_and_add(&of->count.paused, 1);
	if (!s || !ring)
		return 0;
	s->rec.time = bpf_ktime_get_ns();
	s->rec.kind = ABI_REC_SAMPLE;
	s->rec.cpu = cpu;
	s->rec.flags = user ? ABI_REC_USER : 0;
	s->rec.pmc = pmc & ~ABI_SAMPLER_ON;
	put_numbers(&s->rec);
	s->rec.end = s->rec.pointers = 0;
	s->rec.reserved = 0;
	n = fill(ctx, s, of, user);
	s->rec.n = n;
	bytes = n * 8;
	if (bytes > MAX_BYTES)
		bytes = MAX_BYTES;
	if (!ring_output(ring, s, sizeof(s->rec) + bytes))
		__sync_fetch_and_add(&of->count.dropped, 1);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * What an overflow runs: one record, with the address and on request the call chain of the side
 * that was interrupted, or of both.  The program is loaded once for every sampling PMC, because
 * inherited events have nothing else by which they could be told apart.
 */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "ring.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before load. */
const volatile __u32 pmc = 0;
const volatile __u32 depth = 1;		/* addresses of a side */
const volatile __u32 both_sides = 0;

struct abi_sampler counts = {};

struct rings_map rings SEC(".maps");

#define MAX_BYTES (2 * ABI_CHAIN_MAX * 8)

struct scratch {
	struct abi_rec rec;
	__u64 pc[2 * ABI_CHAIN_MAX];
};
/* Programs of overflows do not interrupt each other: the kernel leaves the second out. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

static __always_inline u32 chain(void *ctx, void *to, u64 flags)
{
	u32 max = depth < ABI_CHAIN_MAX ? depth : ABI_CHAIN_MAX;
	long n = bpf_get_stack(ctx, to, max * 8, flags);

	return n > 0 ? (u32)n / 8 : 0;
}

/* The record's addresses. */
static __always_inline u32 fill(struct bpf_perf_event_data *ctx, struct scratch *s, bool user)
{
	u32 n = 0;

	s->pc[0] = PT_IP(ctx);
	if (depth <= 1 && !both_sides)
		return 1;
	if (user)
		n = chain(ctx, s->pc, BPF_F_USER_STACK);
	else
		n = chain(ctx, s->pc, 0);
	if (!n)
		n = 1;
	if (n > ABI_CHAIN_MAX)
		n = ABI_CHAIN_MAX;
	if (both_sides && !user)
		n += chain(ctx, s->pc + n, BPF_F_USER_STACK);
	return n;
}

/* Of an event that is too frequent for the kernel; whatever else it would count is lost. */
static __always_inline bool is_paused(struct bpf_perf_event_data *ctx)
{
	return BPF_CORE_READ((struct bpf_perf_event_data_kern *)ctx, event, hw.interrupts) ==
	       ~0ull;
}

SEC("perf_event")
int on_overflow(struct bpf_perf_event_data *ctx)
{
	u64 id = bpf_get_current_pid_tgid();
	u32 zero = 0, cpu = bpf_get_smp_processor_id(), n, bytes;
	struct scratch *s = bpf_map_lookup_elem(&scratch, &zero);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	bool user = !(PT_IP(ctx) >> 63);

	__sync_fetch_and_add(&counts.samples, 1);
	if (is_paused(ctx))
		__sync_fetch_and_add(&counts.paused, 1);
	if (!s || !ring)
		return 0;
	s->rec.time = bpf_ktime_get_ns();
	s->rec.kind = ABI_REC_SAMPLE;
	s->rec.cpu = cpu;
	s->rec.flags = user ? ABI_REC_USER : 0;
	s->rec.pmc = pmc;
	s->rec.pid = id >> 32;
	s->rec.tid = (u32)id;
	s->rec.reserved = 0;
	n = fill(ctx, s, user);
	s->rec.n = n;
	bytes = n * 8;
	if (bytes > MAX_BYTES)
		bytes = MAX_BYTES;
	if (!ring_output(ring, s, sizeof(s->rec) + bytes))
		__sync_fetch_and_add(&counts.dropped, 1);
	return 0;
}

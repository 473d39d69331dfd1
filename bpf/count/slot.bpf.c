// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the hits of one tracepoint, whichever it is.  Every tracepoint that is counted gets an
 * instance of its own, so that the kernel's number of runs that it skipped belongs to one
 * tracepoint: tracepoint.bpf.c.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "count_abi.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u32 slot = 0;

/* The map of switch.bpf.c. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct abi_cpu);
} cpus SEC(".maps");

SEC("raw_tp")
int on_slot(void *ctx)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (c)
		__sync_fetch_and_add(&c->hits[slot & (ABI_TRACEPOINTS - 1)], 1);
	return 0;
}

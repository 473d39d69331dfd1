/* SPDX-License-Identifier: GPL-2.0 */
/* The counters of hits, of tracepoints and of probes. */
#ifndef PMCBPF_HIT_BPF_H
#define PMCBPF_HIT_BPF_H

#include "maps.bpf.h"

static __always_inline u64 *hits_here(u32 slot)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	return c ? &c->hits[slot & (ABI_TRACEPOINTS - 1)] : NULL;
}

/* Called by the slot's only program, of which the kernel runs one at a time on a CPU. */
static __always_inline void hit_alone(u32 slot)
{
	u64 *hits = hits_here(slot);

	if (hits)
		*hits += 1;
}

static __always_inline void hit(u32 slot)
{
	u64 *hits = hits_here(slot);

	if (hits)
		__sync_fetch_and_add(hits, 1);
}

/* The hits of a counter on a CPU, with those for which the kernel skipped the program. */
static __always_inline u64 hits_of(struct abi_cpu *c, u32 slot)
{
	u64 misses = 0;

	barrier_var(slot);	/* or the compiler hides the bounds from the verifier */
	slot &= ABI_TRACEPOINTS - 1;
	if (c->misses[slot])
		bpf_probe_read_kernel(&misses, sizeof(misses), (void *)c->misses[slot]);
	return c->hits[slot] + misses;
}

#endif

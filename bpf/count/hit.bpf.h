/* SPDX-License-Identifier: GPL-2.0 */
/* The counters of hits, of tracepoints and of probes. */
#ifndef PMCBPF_HIT_BPF_H
#define PMCBPF_HIT_BPF_H

#include "maps.bpf.h"

static __always_inline void hit(u32 slot)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (c)
		__sync_fetch_and_add(&c->hits[slot & (ABI_TRACEPOINTS - 1)], 1);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* The threads of PMCs that count one thread of a process alone. */
#ifndef PMCBPF_ALONE_BPF_H
#define PMCBPF_ALONE_BPF_H

#include "maps.bpf.h"
#include "one_thread.bpf.h"

static __always_inline struct abi_alone *alone_of(u32 owner, u32 pos)
{
	u32 key = ABI_ALONE(owner, pos);

	return bpf_map_lookup_elem(&alone_threads, &key);
}

/* True if the PMC of that owner counts this thread. */
static __always_inline bool alone_has(u32 owner, u32 pos, u32 tid, u64 task)
{
	struct abi_alone *a = alone_of(owner, pos);

	return a && alone_admits(a, tid, task);
}

#endif

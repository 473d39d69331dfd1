/* SPDX-License-Identifier: GPL-2.0 */
/* Counts of one instant, for groups. */
#ifndef PMCBPF_SNAPSHOT_BPF_H
#define PMCBPF_SNAPSHOT_BPF_H

#include "maps.bpf.h"

__u32 snapshot_owner = 0;	/* the daemon's request: whose counts … */
__u64 snapshot_number = 0;	/* … and its number */

/*
 * Keeps an owner's counts of this CPU as they are now, so that the daemon finds counts of one
 * instant while the slices go on.
 */
__noinline int snapshot_take(u32 cpu)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct abi_counts *k = owner_counts(snapshot_owner, cpu);

	if (!c || !k || c->snapshot_number == snapshot_number)
		return 0;
	for (u32 i = 0; i < ABI_COUNTS; i++)
		c->snapshot[i] = k->count[i];
	c->snapshot_number = snapshot_number;
	return 0;
}

#endif

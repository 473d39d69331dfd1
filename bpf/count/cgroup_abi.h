/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The maps of PMCs that count cgroups: cgroup.bpf.c and loader/kernel/cgroups.c. */
#ifndef PMCBPF_CGROUP_ABI_H
#define PMCBPF_CGROUP_ABI_H

#include "count_abi.h"

#define ABI_CGROUP_PMCS  4096u		/* PMCs of cgroups, each with a place in the counts */
#define ABI_CGROUPS      (ABI_CGROUP_PMCS + 1) /* cgroups with PMCs; 0 stands for none */
#define ABI_CGROUP_KNOWN 64u		/* cgroups whose sets a CPU remembers */
#define ABI_CGROUP_DEPTH 64		/* cgroups on the way to the root, itself included */

/*
 * The PMCs that count one cgroup: its own and those of each cgroup above it, so that a switch finds
 * all of them in one place.
 */
#define ABI_CGROUP_MEMBERS 64
struct abi_cgroup {
	__u64 active;			/* bit i: member i is running */
	__u64 due;			/* bit i: an unseen slice of member i counts as lost */
	__u64 hits;			/* bit i: programs count member i's source */
	struct {
		__u16 source, place;
	} member[ABI_CGROUP_MEMBERS];
};

/* The set of a cgroup, while cgroup_epoch has this value. */
struct abi_cgroup_known {
	__u64 serial;			/* the kernel's number of it */
	__u32 set, epoch;
};

/* A CPU's state, written only by its own programs. */
struct abi_cgroup_cpu {
	__u64 members;			/* of the open set, which count … */
	__u64 fresh_hits, fresh_others;	/* … and the sources read at the latest change */
	__u32 busy, again;		/* a flush is under way: it has to look again */
	__u32 switching;		/* this change is a context switch … */
	__u32 due, hit_due;		/* … which these have yet to count, as abi_cpu */
	__u32 reserved;
	__u64 start[ABI_ALL_SOURCES];	/* each source at the slice's start … */
	__u64 now[ABI_ALL_SOURCES];	/* … and at its end */
	struct abi_cgroup_known known[ABI_CGROUP_KNOWN];
	__u64 pad[122];			/* to a power of two, so that a shift finds the element */
};

struct abi_cgroup_counts {
	__u64 count[ABI_CGROUP_PMCS];
};

/* The kernel's numbers of a cgroup and of those above it, the root's at the end. */
struct abi_cgroup_path {
	__u32 n, reserved;
	__u64 id[ABI_CGROUP_DEPTH];
};

_Static_assert(sizeof(struct abi_cgroup_cpu) == 4096, "abi");

#endif

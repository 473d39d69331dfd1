/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs of a cgroup.  Programs count them in slices (cgroup_slices.c) if they see tasks that move
 * between cgroups, else perf does (cgroup_events.c).  Samples are those of perf's events, or of the
 * programs of hits (cgroup_hits.c) and of waits (offcpu.c).
 */
#ifndef PMCBPF_CGROUP_H
#define PMCBPF_CGROUP_H

#include "count_state.h"

struct cgroup_state {
	int folder;			/* of the cgroup, -1: not named yet */
	int *fds;			/* cgroup_events.c: by CPU, -1: none; NULL: sliced */
	int place;			/* cgroup_slices.c: among the programs' counts, -1: none */
	uint64_t zero;			/* … earlier content of its place */
	struct abi_cgroup_sampler sampler; /* cgroup_hits.c, and of waits: offcpu.c */
};

/* Makes the PMC one of a cgroup, which count_attach_cgroup() names later. */
int cgroup_new(struct count *c, struct reason *why);
/* Gives everything back except for the source of a row or a tracepoint. */
void cgroup_free(struct count *c);

/* Opens the PMC's event of the cgroup on a CPU; -ENXIO: it is offline. */
int cgroup_open_event(const struct count *c, const struct perf_event_spec *spec, int folder,
		      unsigned int cpu);
/* The reason why perf does not take the cgroup. */
int cgroup_refused(const struct count *c, int folder, int err, struct reason *why);
/*
 * -ENOENT: the cgroup has been removed.  -EAGAIN: the user has his share of the `places` that
 * running PMCs have in which programs sample `what`; `source`: those of that source, -1: of any.
 */
int cgroup_check_start(const struct count *c, int source, unsigned int places, const char *what,
		       struct reason *why);
int cgroup_deny_lost(const struct count *c, int err, struct reason *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs of a cgroup: on each CPU a perf event that the kernel switches with the cgroup of the task
 * that runs.  The events exist while the PMC runs.
 */
#ifndef PMCBPF_CGROUP_EVENTS_H
#define PMCBPF_CGROUP_EVENTS_H

#include "count_state.h"

/* Makes the PMC one of a cgroup, which count_attach_cgroup() names later. */
int cgroup_events_new(struct count *c, struct reason *why);
void cgroup_events_free(struct count *c);

#endif

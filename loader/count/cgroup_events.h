/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs of a cgroup that perf counts: the part of cgroup_new() and cgroup_free() for these. */
#ifndef PMCBPF_CGROUP_EVENTS_H
#define PMCBPF_CGROUP_EVENTS_H

struct count;

int cgroup_events_new(struct count *c);
void cgroup_events_free(struct count *c);

#endif

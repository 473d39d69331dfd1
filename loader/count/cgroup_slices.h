/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs of a cgroup that programs count: the part of cgroup_new() and cgroup_free() for these. */
#ifndef PMCBPF_CGROUP_SLICES_H
#define PMCBPF_CGROUP_SLICES_H

struct count;
struct reason;

/* If the PMC has no source yet, it takes one. */
int cgroup_slices_new(struct count *c, struct reason *why);
/* Gives everything back except for the source of a row or a tracepoint. */
void cgroup_slices_free(struct count *c);

#endif

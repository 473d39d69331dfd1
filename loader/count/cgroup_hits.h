/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs that sample the hits of a tracepoint or probe in a cgroup: the part of cgroup_new() and
 * count_attach_cgroup() for these.
 */
#ifndef PMCBPF_CGROUP_HITS_H
#define PMCBPF_CGROUP_HITS_H

#include <stdbool.h>

#include "count.h"

/* True if programs sample it; its source is taken already. */
bool cgroup_hits_has(const struct count_spec *spec);
void cgroup_hits_new(struct count *c);
int cgroup_hits_attach(struct count *c, int folder, struct reason *why);

#endif

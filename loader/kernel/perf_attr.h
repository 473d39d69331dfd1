/* SPDX-License-Identifier: BSD-2-Clause */
/* An event as perf_event_open(2) takes it. */
#ifndef PMCBPF_PERF_ATTR_H
#define PMCBPF_PERF_ATTR_H

#include "perf.h"

struct perf_event_attr;

/* Fills in all of it, for an event that is pinned. */
void perf_attr_fill(struct perf_event_attr *attr, const struct perf_event_spec *spec);
/* Calls perf_event_open(2): a descriptor or -errno. */
int perf_attr_open(struct perf_event_attr *attr, int pid, int cpu, int group);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups of perf's events, which count and are read at one instant. */
#ifndef PMCBPF_PERF_GROUP_H
#define PMCBPF_PERF_GROUP_H

#include "perf.h"

/*
 * Opens a thread's event in a group, on one CPU or, with -1, on any: with `leader` -1 a pinned,
 * disabled one, which the group counts with, else one that counts with its leader.  A descriptor or
 * -errno.
 */
int perf_group_open(const struct perf_event_spec *spec, int tid, int cpu, int leader);

/* Reads the n events of a group; as perf_read(). */
int perf_group_read(int leader, uint64_t *values, unsigned int n);

#endif

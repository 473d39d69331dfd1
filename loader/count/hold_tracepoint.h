/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs of tracepoints and probes: the counter that PMCs of one of them share, and its users. */
#ifndef PMCBPF_HOLD_TRACEPOINT_H
#define PMCBPF_HOLD_TRACEPOINT_H

#include "count_state.h"

/*
 * Takes the counter of the tracepoint or probe, and chooses the backend.  -ENOSYS: only perf can
 * count this tracepoint: it has a filter, or no place for a program.
 */
int hold_tracepoint(struct count *c, struct reason *why);
void hold_tracepoint_end(struct count *c);

/* At START and STOP: remembers whether the kernel has missed returns of a probe in between. */
void hold_tracepoint_start(struct count *c);
void hold_tracepoint_stop(struct count *c);
/* -EBUSY: it has. */
int hold_tracepoint_check(const struct count *c, struct reason *why);

#endif

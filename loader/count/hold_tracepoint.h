/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs of tracepoints: the counter that PMCs of one tracepoint share, and its users. */
#ifndef PMCBPF_HOLD_TRACEPOINT_H
#define PMCBPF_HOLD_TRACEPOINT_H

#include "count_state.h"

/*
 * Takes the tracepoint's counter, and chooses the backend.  -ENOSYS: only perf can count this one:
 * it has a filter, or no place for a program.
 */
int hold_tracepoint(struct count *c, struct reason *why);
void hold_tracepoint_end(struct count *c);

#endif

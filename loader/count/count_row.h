/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One row under process scope.  All its PMCs share a counter in one of two ways: PMCs that count
 * the same event slice one per-CPU event; as soon as two count different events, the kernel
 * switches per-task events instead, for all of them.
 */
#ifndef PMCBPF_COUNT_ROW_H
#define PMCBPF_COUNT_ROW_H

#include "count_state.h"

struct count_row {
	LIST_HEAD(, count) users;
	LIST_HEAD(, count) soft;	/* PMCs with per-task events, on rows of class SOFT */
	int source;			/* sliced: the per-CPU event, -1: none */
	struct perf_event_spec spec;	/* sliced: the source's event */
	bool per_task;			/* the kernel switches per-task events instead */
	struct user *payer;		/* the user charged for the source; NULL: none … */
	unsigned int paid;		/* … and how much */
};

/* Called for the first PMC on the row: opens the source that all will share. */
int count_row_begin(struct count *c, const struct perf_event_spec *spec, struct reason *why);
void count_row_add(struct count *c);
/* Adds a PMC of a cgroup, which counts on the row's source if it has one. */
int count_row_add_cgroup(struct count *c, struct reason *why);
/* Called for the last PMC on the row: closes the source. */
void count_row_leave(struct count *c);
/* Has the row's only PMC, which does not run, count by groups of per-task events. */
void count_row_to_group(struct count *c);
/* Moves all PMCs of the row to per-task events. */
int count_row_to_tasks(struct engine *e, struct count_row *row, struct reason *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One row under process scope.  All its PMCs share a counter, in one of two ways: those that count
 * the same event slice one per-CPU event; as soon as two count different events, the kernel
 * switches per-task events instead, for all of them.
 */
#ifndef PMCBPF_COUNT_ROW_H
#define PMCBPF_COUNT_ROW_H

#include "count_state.h"

struct count_row {
	LIST_HEAD(, count) users;
	LIST_HEAD(, count) soft;	/* those with per-task events, where the row is SOFT */
	int source;			/* sliced: the per-CPU event, -1: none */
	struct perf_event_spec spec;	/* sliced: what it counts */
	bool per_task;			/* the kernel switches per-task events instead */
	struct user *payer;		/* for the source, one of `users`'; NULL: nobody … */
	unsigned int paid;		/* … and how much */
};

/* The first PMC on the row opens the source that all will share. */
int count_row_begin(struct count *c, const struct perf_event_spec *spec, struct reason *why);
void count_row_add(struct count *c);
/* The last one closes it. */
void count_row_leave(struct count *c);
/* All PMCs of the row go on with per-task events. */
int count_row_to_tasks(struct engine *e, struct count_row *row, struct reason *why);

#endif

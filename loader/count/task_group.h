/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups that count their owner only, by groups of perf's per-task events: the owner then reads all
 * members itself, at one instant and without the daemon.
 */
#ifndef PMCBPF_TASK_GROUP_H
#define PMCBPF_TASK_GROUP_H

#include "count_state.h"

/*
 * Before a start: opens the events if the group can be counted so.  What cannot be is counted in
 * slices, or the start fails if a row of it is not.
 */
int task_group_prepare(struct count *const *list, unsigned int n, unsigned int *failed,
		       struct reason *why);
/* True if it is. */
bool task_group_counts(const struct count *first);
int task_group_start(struct count *const *list, unsigned int n, struct reason *why);
void task_group_stop(struct count *const *list, unsigned int n);
int task_group_read(struct count *const *list, unsigned int n, uint64_t *raw, unsigned int *failed,
		    struct reason *why);
/* The descriptors of the running group; see count_read_fds_all(). */
unsigned int task_group_fds(struct count *const *list, unsigned int n, int *fds, unsigned int max);

#endif

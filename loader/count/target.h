/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sets of PMCs that measure processes.  The kernel's `targets` map is authoritative (children
 * join it without the daemon); here are the sets that it names, and the moves between them.
 */
#ifndef PMCBPF_TARGET_H
#define PMCBPF_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loader/base/base.h"
#include "count.h"

struct count;
struct count_row;
struct engine;
struct targets;

#define TARGET_SETS 4095u		/* the most that users can have: POOL_SETS */

struct targets *targets_new(struct engine *e);
void targets_free(struct targets *ts);

/* The state that the PMCs of a row share. */
struct count_row *target_count_row(struct targets *ts, unsigned int row);

/* The PMC that measures the process on the row, NULL if none. */
struct count *target_row(struct targets *ts, pid_t tgid, unsigned int row);
/* Bit r: some PMC measures the process on row r. */
row_mask target_rows(struct targets *ts, pid_t tgid);

/* -EEXIST: has this PMC; -EBUSY: the row is taken; -ESRCH: exited; -EAGAIN: a quota is reached. */
/* `waits`: the process is counted from its next exec on. */
int target_join(struct targets *ts, struct count *c, int pidfd, pid_t tgid, bool waits,
		struct reason *why);
/* True if the PMC counts the process only from its next exec on. */
bool target_waits(struct targets *ts, const struct count *c, pid_t tgid);
/*
 * To be called before a detach.  -EAGAIN: without this PMC its targets need more sets than the user
 * may have.
 */
int target_may_leave(struct targets *ts, const struct count *c, struct reason *why);
/* -ESRCH: not measured or exited; -EINVAL: not by this PMC. */
int target_leave(struct targets *ts, struct count *c, pid_t tgid, struct reason *why);
/* Removes targets one by one, while other operations run; some may remain. */
void target_leave_slowly(struct targets *ts, struct count *c);
/* Removes every target and frees the PMC's sets; no child can join any more. */
void target_leave_all(struct targets *ts, struct count *c);

/* The PMCs of a set that a note names; false: the id may be another set's by now. */
bool target_set(struct targets *ts, unsigned int id, struct count *row[TARGET_ROWS]);
/* All notes so far have been handled, or every PMC has been checked. */
void target_seen_all(struct targets *ts);

/* Number of its targets' children that found no room so far. */
uint64_t target_lost(struct targets *ts, const struct count *c);
/* Number of live processes that the PMC measures. */
unsigned int target_number(struct targets *ts, const struct count *c);
/* Calls fn for each target; the set of targets may change meanwhile.  -errno: for none. */
int target_each(struct targets *ts, const struct count *c, void (*fn)(void *arg, pid_t tgid),
		void *arg);

/* Marks the PMC as running or stopped for the programs; the caller flushes. */
void target_activate(struct targets *ts, const struct count *c, bool on);
/*
 * The same for all of a group, by one store in each set, so that each slice counts all or none of
 * them.
 */
void target_activate_all(struct targets *ts, struct count *const *list, unsigned int n, bool on);
/* True if each target of one of them is a target of all, and waits for its exec for all. */
bool target_shared(struct targets *ts, struct count *const *list, unsigned int n);
/* Sets whether an unseen slice is lost for the PMC. */
void target_due(struct targets *ts, const struct count *c, bool on);
/* Rewrites the PMC's part of every set, after a change of its backend. */
void target_rewrite(struct targets *ts, const struct count *c);

#endif

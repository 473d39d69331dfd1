/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which PMCs measure which process.  The kernel's `targets` map is the truth (children join it
 * without us); here are the sets its entries name, and the moves between sets.
 */
#ifndef PMCBPF_TARGET_H
#define PMCBPF_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loader/base/base.h"

struct count;
struct count_row;
struct engine;
struct targets;

#define TARGET_ROWS 64
#define TARGET_SETS 4095u		/* that users can have: POOL_SETS */

struct targets *targets_new(struct engine *e);
void targets_free(struct targets *ts);

/* What the PMCs of a row share. */
struct count_row *target_count_row(struct targets *ts, unsigned int row);

/* The PMC that measures the process on the row, NULL if none. */
struct count *target_row(struct targets *ts, pid_t tgid, unsigned int row);
/* Bit r: some PMC measures the process on row r. */
uint64_t target_rows(struct targets *ts, pid_t tgid);

/* -EEXIST: has this PMC; -EBUSY: the row is taken; -ESRCH: exited; -EAGAIN: a quota is used up. */
/* `waits`: it is counted from its next exec on. */
int target_join(struct targets *ts, struct count *c, int pidfd, pid_t tgid, bool waits,
		struct reason *why);
/* The PMC counts the process from its next exec on only. */
bool target_waits(struct targets *ts, const struct count *c, pid_t tgid);
/*
 * -EAGAIN: what its targets have without this PMC takes more sets than its user may have; to be
 * asked before a detach.
 */
int target_may_leave(struct targets *ts, const struct count *c, struct reason *why);
/* -ESRCH: not measured or exited; -EINVAL: not by this PMC. */
int target_leave(struct targets *ts, struct count *c, pid_t tgid, struct reason *why);
/* Targets leave one by one, and others go on meanwhile; some may be left. */
void target_leave_slowly(struct targets *ts, struct count *c);
/* Every target leaves, and no child can join any more; the PMC is forgotten. */
void target_leave_all(struct targets *ts, struct count *c);

/* The PMCs of a set that a note names; false: its id may be another set's by now. */
bool target_set(struct targets *ts, unsigned int id, struct count *row[TARGET_ROWS]);
/* All notes so far have been looked at, or everything. */
void target_seen_all(struct targets *ts);

/* Children of its targets that found no room so far. */
uint64_t target_lost(struct targets *ts, const struct count *c);
/* Live processes the PMC measures. */
unsigned int target_number(struct targets *ts, const struct count *c);
/* Calls fn for each; the set of targets may change meanwhile.  -errno: for none. */
int target_each(struct targets *ts, const struct count *c, void (*fn)(void *arg, pid_t tgid),
		void *arg);

/* Tells the programs that the PMC runs or does not; the caller flushes. */
void target_activate(struct targets *ts, const struct count *c, bool on);
/* A slice of it that the programs do not see is lost, or is not. */
void target_due(struct targets *ts, const struct count *c, bool on);
/* Writes the PMC's part of every set anew, after it changed its backend. */
void target_rewrite(struct targets *ts, const struct count *c);

#endif

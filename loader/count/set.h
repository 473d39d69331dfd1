/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of PMCs, their successors, and the users charged for them.  A part of target.c: only set.c
 * and target.c include this.
 */
#ifndef PMCBPF_SET_H
#define PMCBPF_SET_H

#include "count_row.h"

#define SET_BUCKETS  1024	/* of sets, by their PMCs; a power of two */
/*
 * One set needs up to three more: one for its children, and one each for both after a set-id exec.
 * If PMCs wait for an exec, all four are needed twice.
 */
#define SETS_AT_ONCE 8

/* An entry in the list of sets of one PMC. */
struct set_link {
	LIST_ENTRY(set_link) of_count;
	struct set *set;
};

/*
 * One set: at most one PMC per row.  Created on demand, swept when no process has it.  The user
 * whose attach creates the set pays for it and for its processes, even if other users have PMCs in
 * it (ABI_OWNERS_MIXED).  A set that remains when a PMC goes, or that has no PMC of that user, is
 * paid for by the user of its first PMC.  So the payer always has a PMC in the set, and the set
 * goes with that PMC at the latest.
 *
 * A PMC that waits for the process's exec has its row in the set and its bit in `waits`, but is no
 * member in the kernel's copy: nothing is counted.  The exec moves the process to the set `exec`,
 * which has the same PMCs and waits for nothing.  Children that are born earlier wait as well.
 */
struct set {
	LIST_ENTRY(set) same_hash;
	struct count_owner *payer;
	unsigned int id;
	unsigned int child;		/* set of a forked child, 0: none */
	unsigned int secure;		/* set after a set-id exec, 0: none */
	unsigned int exec;		/* set after any exec, 0: unchanged */
	row_mask waits;			/* bit r: row[r] counts only after an exec */
	struct count *row[TARGET_ROWS];
	uint8_t member[TARGET_ROWS];	/* index of a sliced PMC in abi_set.member */
	bool reachable;
	struct set_link link[];		/* one per PMC */
};
LIST_HEAD(sets, set);

struct targets {
	struct engine *e;
	struct set *sets[ABI_MAX_SETS];	/* by id; 0 is never used */
	struct sets bucket[SET_BUCKETS];	/* by PMCs */
	unsigned int nsets;
	unsigned int last;		/* the latest id given out */
	bool swept;			/* ids in notes may belong to newer sets */
	bool unflushed;			/* slices of freed sets may be open */
	struct count_row rows[TARGET_ROWS];
};

/* The owner that sets are created for, and whether quotas apply. */
struct maker {
	struct count_owner *owner;	/* NULL: for no owner in particular */
	bool must;			/* ignores quotas, as when a PMC leaves … */
	struct reason *why;		/* … else receives the quota that refuses */
};

/*
 * The key by which a set is found: its PMCs, and the rows of those that wait.  Bits of rows without
 * a PMC are ignored.
 */
struct set_key {
	struct count *row[TARGET_ROWS];
	row_mask waits;
};
struct set_key set_key(const struct set *set);
/* The key of the set without this PMC. */
struct set_key set_rest(const struct set *set, const struct count *c);

/* The set of exactly these PMCs; NULL: there is none. */
struct set *set_find(struct targets *ts, const struct set_key *k);
/* The id of that set, created if need be; 0 for no PMC; -ENOMEM, -EAGAIN. */
int set_get(struct targets *ts, const struct set_key *k, const struct maker *m);
/* Copies a set to the programs' map. */
void set_write(struct targets *ts, struct set *set);
void set_free(struct targets *ts, unsigned int id);
/* Frees the sets that no live target has and no child can get. */
void sets_sweep(struct targets *ts);
/* Sweeps if n more sets are too many for the user, or altogether. */
void sets_make_room(struct targets *ts, const struct user *u, unsigned int n);

#endif

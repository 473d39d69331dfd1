/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of PMCs: which there are, what they lead to, and who pays.  Part of target.c, which alone
 * includes this beside set.c.
 */
#ifndef PMCBPF_SET_H
#define PMCBPF_SET_H

#include "count_row.h"

#define SET_BUCKETS  1024	/* of sets, by their PMCs; a power of two */
/*
 * One set needs up to three more: for its children, and for both after a set-id exec.  If PMCs wait
 * for an exec, all four are needed twice.
 */
#define SETS_AT_ONCE 8

/* A set among those that have one of its PMCs. */
struct set_link {
	LIST_ENTRY(set_link) of_count;
	struct set *set;
};

/*
 * One set: at most one PMC per row.  Made on demand, swept when no process has it.  The user whose
 * attach makes the set pays for it and for its processes, also where other users have PMCs in it
 * (ABI_OWNERS_MIXED).  A set that is left over when a PMC goes, or without a PMC of that user, is
 * paid for by the user of its first PMC.  So the payer always has a PMC in the set, and the set
 * goes with that PMC at the latest.
 *
 * A PMC that waits for the process's exec has its row in the set and its bit in `waits`, and is no
 * member in the kernel's copy: nothing is counted.  The exec moves the process to the set `exec`,
 * which is of the same PMCs and waits for nothing.  Children that are born earlier wait as well.
 */
struct set {
	LIST_ENTRY(set) same_hash;
	struct count_owner *payer;
	unsigned int id;
	unsigned int child;		/* what a forked child gets, 0: nothing */
	unsigned int secure;		/* what remains after a set-id exec, 0: nothing */
	unsigned int exec;		/* what an exec makes of it, 0: it stays */
	uint64_t waits;			/* bit r: row[r] counts from the exec on */
	struct count *row[TARGET_ROWS];
	uint8_t member[TARGET_ROWS];	/* index in abi_set.member of a sliced PMC */
	bool reachable;
	struct set_link link[];		/* one per PMC */
};
LIST_HEAD(sets, set);

struct targets {
	struct engine *e;
	struct set *sets[ABI_MAX_SETS];	/* by id; 0 is never used */
	struct sets bucket[SET_BUCKETS];	/* the same */
	unsigned int nsets;
	unsigned int last;		/* id given out most recently */
	bool swept;			/* ids that notes name may be others' by now */
	bool unflushed;			/* slices of sets that are gone may be open */
	struct count_row rows[TARGET_ROWS];
};

/* The owner that sets are made for, and whether quotas apply. */
struct maker {
	struct count_owner *owner;	/* NULL: for nobody in particular */
	bool must;			/* whatever the quotas say, as when a PMC leaves … */
	struct reason *why;		/* … else the quota that refuses */
};

/*
 * What a set is found by: its PMCs, and the rows of those that wait.  A bit of a row without a PMC
 * means nothing.
 */
struct set_key {
	struct count *row[TARGET_ROWS];
	uint64_t waits;
};
struct set_key set_key(const struct set *set);
/* The same without a PMC. */
struct set_key set_rest(const struct set *set, const struct count *c);

/* The set of exactly these PMCs; NULL: there is none. */
struct set *set_find(struct targets *ts, const struct set_key *k);
/* The id of it, made if need be; 0 for no PMC; -ENOMEM, -EAGAIN. */
int set_get(struct targets *ts, const struct set_key *k, const struct maker *m);
/* Copies a set to where the programs read it. */
void set_write(struct targets *ts, struct set *set);
void set_free(struct targets *ts, unsigned int id);
/* Frees the sets that no live target has and no child can get. */
void sets_sweep(struct targets *ts);
/* The same if n sets more are too many for the user, or for all. */
void sets_make_room(struct targets *ts, const struct user *u, unsigned int n);

#endif

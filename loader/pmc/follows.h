/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of follows: one entry for each PMC and process whose events go to the PMC's log.  An
 * entry outlives the exit or detachment until all earlier events have been written.
 *
 * Example: a set-id exec takes a target away at 100, while records are written up to 90 only,
 * because another process's exec is incomplete.  The entry ends at 100; when later drains have
 * written the target's last slice, of 99, and come to a record of 101, `detached` writes PMCDETACH.
 */
#ifndef PMCBPF_FOLLOWS_H
#define PMCBPF_FOLLOWS_H

#include <sys/queue.h>

#include "pmc.h"

#define FOLLOW_BUCKETS 1024u

struct follow {
	LIST_ENTRY(follow) in_bucket;	/* of its pid */
	LIST_ENTRY(follow) of_pmc;
	TAILQ_ENTRY(follow) in_ended;
	struct follows *table;
	struct pmc *pmc;
	pid_t pid;
	bool seen;			/* marked by lifetime_prune() */
	bool born;			/* a target's child; not known whether it became a target */
	bool execed;			/* the log has an exec of it */
	uint64_t since;			/* no earlier event is logged; a later birth is another's */
	uint64_t until;			/* later events must not be logged */
	uint64_t ended;			/* 0, or the time of the exit or detachment */
	bool detached;			/* the log lacks the detachment, and before that … */
	uint64_t share;			/* … the process's share of a PMC that counts */
};

struct follows {
	LIST_HEAD(follow_bucket, follow) bucket[FOLLOW_BUCKETS];
	TAILQ_HEAD(, follow) ended;	/* the oldest first */
	void (*detached)(const struct follow *f);
};

/* `detached` writes the detachment of an entry that has the mark, before it is freed. */
void follows_init(struct follows *fs, void (*detached)(const struct follow *f));
void follows_free(struct follows *fs);

struct follow_bucket *follows_of(struct follows *fs, pid_t pid);
/* The entry, even if it has ended; NULL: none. */
struct follow *follow_find(struct follows *fs, const struct pmc *p, pid_t pid);
/* The existing entry, unless it has ended, or a new one.  NULL: no memory. */
struct follow *follow_make(struct follows *fs, struct pmc *p, pid_t pid, uint64_t since);
void follow_free(struct follow *f);
/* Ends it at `time`, which is now; earlier events are still logged. */
void follow_end(struct follows *fs, struct follow *f, uint64_t time);
/* All events up to `written` are logged: entries that ended before are freed. */
void follows_sweep(struct follows *fs, uint64_t written);
/* A process with that number is born: entries of an earlier process are freed. */
void follows_born(struct follows *fs, pid_t pid, uint64_t time);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which PMC's log hears of which process: one entry for each pair.  An entry outlives the process
 * and its leaving, until all that had happened by then has been written.
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
	bool seen;			/* of lifelog_prune() */
	bool born;			/* of a target, and not known to be one itself */
	bool execed;			/* its log has an exec of it */
	/*
	 * Earlier events are not its log's; a process of this number that is born later is
	 * another.
	 */
	uint64_t since;
	uint64_t until;			/* later events are not for its owner */
	uint64_t ended;			/* 0, or when the process exited or the PMC left it */
};

struct follows {
	LIST_HEAD(follow_bucket, follow) bucket[FOLLOW_BUCKETS];
	TAILQ_HEAD(, follow) ended;	/* the oldest first */
};

void follows_init(struct follows *fs);
void follows_free(struct follows *fs);

struct follow_bucket *follows_of(struct follows *fs, pid_t pid);
/* Also one that has ended; NULL: none. */
struct follow *follow_find(struct follows *fs, const struct pmc *p, pid_t pid);
/* The one there is, if it has not ended, or a new one.  NULL: no memory. */
struct follow *follow_make(struct follows *fs, struct pmc *p, pid_t pid, uint64_t since);
void follow_free(struct follow *f);
/* Its log still gets what happened before `time`, which is now. */
void follow_end(struct follows *fs, struct follow *f, uint64_t time);
/* The log has everything up to the time `written`: entries that ended before are freed. */
void follows_sweep(struct follows *fs, uint64_t written);
/* A process of that number is born: older entries mean another process, which has gone. */
void follows_born(struct follows *fs, pid_t pid, uint64_t time);

#endif

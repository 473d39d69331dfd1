/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log summed up: how many samples each event, process and thread has at each stack.  Stacks are
 * paths in one tree from the outermost caller inwards, so a million samples of the same code need
 * the memory of one.  All tables are arrays that name each other by index.
 */
#ifndef PMCBPF_CLI_PROFILE_PROFILE_H
#define PMCBPF_CLI_PROFILE_PROFILE_H

#include "walk.h"

#define STACK_NONE 0u	/* the caller of an outermost frame: stacks[0] is no stack */

struct stack {
	uint32_t caller;	/* STACK_NONE: none is known */
	uint32_t place;
};

struct tally {
	uint32_t event;
	uint32_t process;
	pid_t tid;
	uint32_t stack;		/* its innermost frame */
	uint64_t samples;
};

struct profile {
	struct symbols *symbols;	/* the caller's */
	struct walk *walk;		/* events, processes, threads, statistics */
	struct place *places;
	struct stack *stacks;
	struct tally *tallies;
	size_t nplaces, nstacks, ntallies;
	uint64_t samples;		/* in all tallies */
	uint64_t *event_samples;	/* of each event */
	size_t nevents;
	void *index;			/* how the tables are found again */
};

/* A profile of nothing.  NULL: no memory, or what walk_new() said. */
struct profile *profile_new(struct symbols *symbols, const struct filter *filter);
void profile_free(struct profile *p);

/* Adds a whole log.  As walk_log(). */
int profile_log(struct profile *p, int fd, const char *name, int terminal);

/* Adds a record, for who reads a log as it is written. */
int profile_record(struct profile *p, const struct pmclog_ev *ev);

/*
 * After records, and before who looks at anything: samples that wait are counted, addresses of the
 * kernel get their images.  Tables may lie elsewhere then.
 */
void profile_settle(struct profile *p);

/* Forgets the counts, not what stacks and places there are: the next period of a live view. */
void profile_clear(struct profile *p);

#endif

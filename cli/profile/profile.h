/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a log of samples to named functions with counts.
 *
 * A sample takes this way, always forwards:
 *
 *   walk.h      reads records, keeps the state of the log: events, processes and threads
 *               (registry.h), mappings (space.h).  Result: event, process, thread, and for each
 *               address an image and an offset, called a place.
 *   places.h    gives each place a number, and each stack: a stack is a place and the number of
 *               the stack that called it, so common callers are stored once.
 *   profile.c   counts: a tally for each (event, process, thread, stack) with its samples.
 *   tree.h      sums tallies up, to lists of functions and call trees.
 *   symbol.h    names places: functions, inlined functions, source lines.  object.h has the
 *               sources of names: symbol tables (elf_names.c), debug information (dwarf.c), the
 *               kernel (kernel.c), JIT maps (jit.c), separate debug files (debug_file.c).
 *
 * Where a chain lacks callers, one more frame stands for them, with a place of its own (place.cut)
 * and the reason as its name, so that every report shows it.
 *
 * A million samples of the same code thus need the memory of one.  All tables are arrays that refer
 * to each other by number; they may move until profile_settle(), numbers never change.  Names are
 * looked up by the report that shows them, each image once.
 *
 * report/, top/, pmc/ and pmcannotate/ call in.  There are no threads here and no locks: a profile,
 * its walk and its symbols belong to the thread that made them.
 *
 * For example, 1000 samples of hot() called by main(), and 10 of main() itself: places 0 (in hot)
 * and 1 (in main), stacks 1 (main) and 2 (hot, called by 1), tallies (stack 2, 1000) and (stack 1,
 * 10).
 */
#ifndef PMCBPF_CLI_PROFILE_PROFILE_H
#define PMCBPF_CLI_PROFILE_PROFILE_H

#include "lib/base/index.h"
#include "symbol.h"
#include "tree.h"
#include "walk.h"

#define STACK_NONE 0u	/* the caller of an outermost frame: stacks[0] is no stack */
/* A chain, its waker's, frames that stand for missing callers, and the waker's name. */
#define STACK_DEPTH_MAX (2 * (PMC_CALLCHAIN_DEPTH_MAX + 1) + 1)

struct stack {
	uint32_t caller;	/* STACK_NONE: none is known */
	uint32_t place;
};

struct tally {
	uint32_t event;
	uint32_t process;
	pid_t tid;
	uint32_t stack;		/* its innermost frame */
	uint64_t samples;		/* their weight: of a steered event, in events … */
	uint64_t taken;			/* … and their number */
};

struct profile {
	struct symbols *symbols;	/* the caller's */
	struct walk *walk;		/* events, processes, threads, statistics */
	struct place *places;
	struct stack *stacks;
	struct tally *tallies;
	size_t nplaces, nstacks, ntallies;
	uint64_t samples;		/* in all tallies */
	uint64_t *event_samples;	/* of each event; as in a tally, weights */
	size_t nevents;
	void *index;			/* profile.c's: struct tables */
};

/* An empty profile.  NULL: no memory, or walk_new() has failed; the line is printed. */
struct profile *profile_new(struct symbols *symbols, const struct filter *filter);
void profile_free(struct profile *p);

/* Adds a whole log.  As walk_log(). */
int profile_log(struct profile *p, int fd, const char *name, int terminal);

/* Adds a record, for a caller that reads the log itself. */
int profile_record(struct profile *p, const struct pmclog_ev *ev);

/*
 * After records and before the tables are read: counts pending samples and finds the images of
 * kernel addresses.  The arrays may move.
 */
void profile_settle(struct profile *p);

/* Sets all counts to 0 and keeps stacks and places: the next period of a live view. */
void profile_clear(struct profile *p);

#endif

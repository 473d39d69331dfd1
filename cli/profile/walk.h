/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One pass over a log, finished or still being written, that resolves each sample: its event, its
 * process and thread, and the image and offset of each address.
 *
 * The pass keeps the state of the log at the current record: PMCs that are allocated, processes
 * with their names, and their mappings.  A mapping record changes the state for the samples behind
 * it only, so an address is resolved as of the time it was sampled.  Two rules follow:
 *
 *  - walk_place() has to be called before the next record other than a sample takes effect;
 *    `record` in struct walk_user announces that record.
 *  - The number of an address space (walk_process.space) changes with its mappings.  An answer may
 *    be kept for (space, address), which is how profile.c avoids most calls.
 *
 * The kernel is the exception: its functions are logged after the first sample in them, so its
 * addresses are resolved at the end, by walk_kernel_place().
 */
#ifndef PMCBPF_CLI_PROFILE_WALK_H
#define PMCBPF_CLI_PROFILE_WALK_H

#include <pmclog.h>

#include "cli/common/common.h"
#include "cli/log/log.h"
#include "clock.h"
#include "symbol.h"

/* A filter of samples.  All zero: every sample passes. */
struct filter {
	const char **events;		/* names as in the log; a sample of any of them */
	size_t nevents;
	const char **processes;		/* numbers, or extended regular expressions for names */
	size_t nprocesses;
	pid_t *threads;
	size_t nthreads;
	struct cpulist cpus;
	bool by_cpu;			/* use `cpus` */
	double from, to;		/* seconds after the log's beginning; to 0: its end */
	bool wall;			/* all events that are time are one: CLOCK_WALL, in ns */
};

struct walk_event {
	const char *name;		/* canonical, from the log; "pmc-0x…" if it has none */
	const char *unique;		/* the same, or NAME.1 … where a name occurs again */
	pmc_id_t id;
	uint64_t rate;			/* events between two samples, 0: not in the log */
	struct clock_scale scale;	/* of samples on one scale */
	uint32_t first;			/* number of the first event of this name: PMCs of one event
					   on several CPUs are one, unless they are kept apart */
	bool steered;			/* samples differ in their weight, which is in events, and
					   `rate` is 1: the kernel steers the period, or … */
	uint64_t each;			/* … PMCs of this name have several, and samples of this one
					   stand for so many events; 0: neither */
};

struct walk_process {
	pid_t pid;
	const char *name;		/* the program's; "pid N" if the log has none */
	const char *path;		/* of its executable; NULL: not in the log */
	uint32_t number;		/* an exec or a new use of the pid begins another */
	uint32_t space;			/* changes whenever a mapping does */
	bool execed;			/* it began with an exec */
};

struct walk_thread {
	pid_t tid;
	const char *name;		/* NULL: not in the log */
};

/* Properties of the recording, and counts of the pass so far. */
struct walk_stats {
	uint64_t samples;		/* in the log */
	uint64_t passed;		/* of these, by the filter */
	uint64_t drops;			/* DROPNOTIFY records: others are missing there, … */
	uint64_t lost;			/* … and so many of them at least, by these records */
	uint64_t execs, exec_elf, exec_unknown, exec_errors;
	uint64_t unknown_event;		/* samples of a PMC that the log does not introduce */
	uint64_t unknown_object;	/* samples at an address outside all mappings */
	uint64_t unknown_function;	/* … at one without a name in its image */
	uint64_t dubious_frames;	/* frames of chains outside all mappings */
	uint64_t chains;		/* samples with more than one frame */
	struct chains ends;		/* of the samples that pass the filter */
	struct walk_waits {
		uint64_t below, below_ns;	/* … of threads, shorter than the threshold … */
		uint64_t dropped, dropped_ns;	/* … more than the rate allows … */
		uint64_t unknown;		/* … whose length is not known */
	} waits;			/* that are no samples */
	double seconds;			/* from the first record to the last */
	struct timespec began;		/* time of day of the first record */
	char cpu[64];			/* CPU type's name, as pmc_name_of_cputype(), and its id */
	bool cut;			/* the log ends without CLOSELOG, or is damaged */
};

struct walk_sample {
	const struct walk_event *event;
	uint32_t event_number;
	const struct walk_process *process;
	const struct walk_thread *thread;	/* NULL: an old log has none */
	pid_t tid;				/* 0: not in the log */
	uint64_t time;				/* ns after the log's beginning */
	int cpu;				/* -1: not in the log */
	uint64_t weight;			/* in units of the event's rate: 1, or as steered */
	bool user;				/* the first address is one of user space */
	size_t npc;
	const uintfptr_t *pc;			/* the sampled one, then return addresses */
	uint32_t flags;				/* PMC_CC_F_…, with the chain's end */
	const struct walk_waker *waker;		/* of a wait; NULL: not in the log */
};

/* The thread, or the interrupt, that ended a wait. */
struct walk_waker {
	struct walk_sample at;			/* its process, addresses, flags */
	uintfptr_t name;			/* the address, one of the kernel's, of its name */
};

#define WALK_KERNEL (1ull << 63)	/* set in the kernel's addresses only */

/* Is address `i` a return address?  The one where user space entered the kernel is not. */
static inline bool walk_returns(const struct walk_sample *s, size_t i)
{
	return i > 0 && !((s->pc[i] ^ s->pc[i - 1]) & WALK_KERNEL);
}

struct walk;

struct walk_user {
	/* 0, or an exit code that ends the pass. */
	int (*sample)(void *arg, struct walk *w, const struct walk_sample *sample);
	/* Every record, before it takes effect; may be NULL. */
	int (*record)(void *arg, struct walk *w, const struct pmclog_ev *ev);
	void *arg;
	bool again;		/* an earlier pass has reported damage of the log */
};

/* `filter` and `symbols` stay the caller's.  NULL: no memory, or a regular expression (printed). */
struct walk *walk_new(struct symbols *symbols, const struct filter *filter,
		      const struct walk_user *user);
void walk_free(struct walk *w);

/* A single record, for a caller that reads the log itself.  0 or an exit code. */
int walk_record(struct walk *w, const struct pmclog_ev *ev);

/*
 * The whole log behind a descriptor, `name` in messages; shows progress on `terminal`, if it is
 * one.  0 or an exit code.  Damage ends the pass: records before it have been passed on, and a line
 * about it is printed.
 */
int walk_log(struct walk *w, int fd, const char *name, int terminal);

/* The place of address `i`.  Call it before the next record other than a sample. */
void walk_place(struct walk *w, const struct walk_sample *sample, size_t i, struct place *place);

/* Where the next mapping above address `i` begins; UINT64_MAX: there is none. */
uint64_t walk_next(const struct walk *w, const struct walk_sample *sample, size_t i);

/*
 * The place of a kernel address, by all records so far: the kernel's functions are logged after
 * their first sample.
 */
void walk_kernel_place(struct walk *w, uintptr_t pc, bool call, struct place *place);

const struct walk_stats *walk_stats(const struct walk *w);
struct walk_stats *walk_count(struct walk *w);	/* resolvers add to it */

/* By number; NULL behind the last.  Valid until walk_free(). */
const struct walk_event *walk_event(const struct walk *w, uint32_t number);
/* Samples of this event weigh as many events as their period says, from now on; returns that. */
uint64_t walk_weigh(struct walk *w, uint32_t number);
const struct walk_process *walk_process(const struct walk *w, uint32_t number);
/* By tid, with the newest name; NULL: not in the log. */
const struct walk_thread *walk_thread(const struct walk *w, pid_t tid);

#endif

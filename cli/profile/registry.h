/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events, processes and threads of a log, by the ids that its records use.
 *
 * Ids are used again: a PMC id after a release, a pid after an exit, and an exec gives a pid
 * another program.  So each event, process and thread has an entry of its own, numbered from 0 in
 * the order of appearance, and an index maps an id to the entry that has it now.  Entries are never
 * moved or freed before registry_end(): pointers to them stay valid.
 *
 * For example, a log with "exec of 12: sh", "exec of 12: make" has the processes 0 (sh) and 1
 * (make), both with pid 12; registry_process(12) returns 1, and samples counted before the second
 * exec still belong to 0.
 */
#ifndef PMCBPF_CLI_PROFILE_REGISTRY_H
#define PMCBPF_CLI_PROFILE_REGISTRY_H

#include "lib/base/index.h"
#include "space.h"
#include "walk.h"

#define REGISTRY_ZOMBIES 64u	/* processes that keep their mappings for late samples */

struct log_event {
	struct walk_event shown;
	uint32_t number;
	bool wanted;		/* by the filter */
	bool unknown;		/* the log does not introduce it */
	bool sampled;		/* the log has samples of it */
	const char *clock;	/* its own name, if it is CLOCK_WALL now … */
	bool timed;		/* … and the report has samples of it */
};

struct log_process {
	struct walk_process shown;
	struct space space;
	bool wanted;
	bool named;		/* by the log */
	bool fresh;		/* nothing has happened since its fork or exec */
	bool gone;
};

struct log_thread {
	struct walk_thread shown;
};

/* All entries of a kind, and an index of those that have an id now. */
struct roll {
	void **each;
	size_t size;
	uint32_t n;
	struct index now;
};

struct registry {
	const struct filter *filter;
	struct regexes *regexes;	/* of the filter's processes */
	struct roll events, processes, threads;
	struct roll texts;
	uint32_t forgotten;		/* processes of earlier logs */
	struct log_process *zombies[REGISTRY_ZOMBIES];
	unsigned int zombie;
};

/* 0, or an exit code: a regular expression of the filter is wrong. */
int registry_begin(struct registry *reg, const struct filter *filter);
void registry_end(struct registry *reg);

/* Another log begins: its ids mean other processes and PMCs. */
void registry_forget(struct registry *reg);

/* The entry that has this id now, or NULL. */
struct log_event *registry_event(const struct registry *reg, pmc_id_t id);
struct log_process *registry_process(const struct registry *reg, pid_t pid);
struct log_thread *registry_thread(const struct registry *reg, pid_t tid);

/* 0, or the exit code if the log lacks an event that the filter asks for, which it prints. */
int registry_check_events(const struct registry *reg, const char *log);

/*
 * Does a PMC allocated under that name continue this event?  Not if the event has samples of
 * another period: they have another weight.
 */
bool registry_same_event(const struct log_event *e, const char *name, uint64_t rate);

/* A new entry, which has the id from now on.  NULL: no memory. */
struct log_event *registry_add_event(struct registry *reg, pmc_id_t id, const char *name);
struct log_process *registry_add_process(struct registry *reg, pid_t pid);

/* The process has ended. */
void registry_retire(struct registry *reg, struct log_process *p);

/* 0 or -ENOMEM.  A path also sets the name, to its last component; empty strings change nothing. */
int registry_set_path(struct registry *reg, struct log_process *p, const char *path);
int registry_name_process(struct registry *reg, struct log_process *p, const char *name);
int registry_name_thread(struct registry *reg, pid_t tid, const char *name);

/* The registry's only copy of a text: equal texts are equal pointers.  NULL: no memory. */
const char *registry_text(struct registry *reg, const char *text);

/*
 * A sample of the event passes the filter.  False, and a line: two clocks that measure the same
 * time would be added up.
 */
bool registry_takes_time(struct registry *reg, struct log_event *e);

/* True if the filter lets a sample of the event and the process through. */
bool registry_passes(const struct registry *reg, const struct walk_sample *s,
		     const struct log_event *e, const struct log_process *p);

#endif

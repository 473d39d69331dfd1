/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who is who in a log: events, processes and threads by the numbers that records use.  Numbers are
 * used again, so each bearer has a number of its own; what is given out stays until the end.
 */
#ifndef PMCBPF_CLI_PROFILE_WHO_H
#define PMCBPF_CLI_PROFILE_WHO_H

#include "index.h"
#include "space.h"
#include "walk.h"

struct event {
	struct walk_event shown;
	uint32_t number;
	bool wanted;		/* by the filter */
	bool unknown;		/* the log does not introduce it */
	bool sampled;		/* the log has samples of it */
};

struct process {
	struct walk_process shown;
	struct space space;
	bool wanted;
	bool named;		/* by the log */
	bool fresh;		/* nothing has happened since its fork or exec */
	bool gone;
};

struct thread {
	struct walk_thread shown;
};

/* Bearers in their order, and who has a number now. */
struct roll {
	void **each;
	size_t size;
	uint32_t n;
	struct index now;
};

struct who {
	const struct filter *filter;
	struct regexes *regexes;	/* of the filter's processes */
	struct roll events, processes, threads;
	struct roll texts;
	uint32_t forgotten;		/* processes of the logs before */
};

/* 0 or an exit code: a regular expression. */
int who_begin(struct who *who, const struct filter *filter);
void who_end(struct who *who);

/* Another log begins: numbers mean other processes and PMCs. */
void who_forget(struct who *who);

/* The bearer of the number now, NULL: none. */
struct event *who_event(const struct who *who, pmc_id_t id);
struct process *who_process(const struct who *who, pid_t pid);
struct thread *who_thread(const struct who *who, pid_t tid);

/* A name of the filter that no event of the log has had; NULL: none. */
const char *who_lacks_event(const struct who *who);

/*
 * Does a PMC that is allocated under that name go on as this event?  Not if there are samples of
 * another period: they weigh differently.
 */
bool who_same_event(const struct event *e, const char *name, uint64_t rate);

/* Another bearer.  NULL: no memory. */
struct event *who_new_event(struct who *who, pmc_id_t id, const char *name);
struct process *who_new_process(struct who *who, pid_t pid);

/* 0 or -ENOMEM.  A path's last component is the name; an empty one tells nothing. */
int who_name_process(struct who *who, struct process *p, const char *path);
int who_call_process(struct who *who, struct process *p, const char *name);
int who_call_thread(struct who *who, pid_t tid, const char *name);

/* The text, kept once. */
const char *who_keep(struct who *who, const char *text);

#endif

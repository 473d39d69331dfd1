/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errands: jobs that may hang and are done by helper processes (lib/base/helper.h): receiving the
 * descriptors of clients, reading the files and mappings of other users' processes, asking name
 * services and the kernel for explanations.
 *
 * Only the fiber that has begun an errand waits for it.  (Outside of a fiber the whole thread
 * waits, which is for tests and tools.)  An errand is charged to its user until its helper is free
 * again or has exited, so that one user's hanging files use up that user's share of helpers.  If
 * the share is used up, the fiber waits for a helper, at most ERRAND_MS.
 *
 * The functions are the event loop's; the jobs run in a helper, which shares nothing with the
 * daemon.  server/, op/, pmc/ and daemon/ begin errands; main.c knows their jobs.
 */
#ifndef PMCBPF_ERRAND_H
#define PMCBPF_ERRAND_H

#include "lib/base/helper.h"
#include "loader/base/base.h"
#include "loader/policy/policy.h"

#define ERRANDS_MAX 64u			/* helper processes */
#define ERRANDS_OWN 2u			/* more, for the daemon's own: charged to no user */
#define ERRAND_MS   5000u		/* the usual time limit of an errand */

enum errand_job {
	ERRAND_RECEIVE,			/* receives a request with descriptors */
	ERRAND_MAPPINGS,		/* reads a process's mappings */
	ERRAND_NAMES,			/* looks up users and groups */
	ERRAND_FILTER,			/* asks the kernel to explain a filter that it refuses */
	ERRAND_TABLE,			/* compiles call frame information (loader/tables) */
	ERRAND_JOBS
};

TAILQ_HEAD(errand_waits, errand_wait);
struct errands {
	struct helpers *helpers;	/* NULL: none, in tests */
	struct fibers *fibers;
	struct user_table *users;
	struct errand_waits waits;	/* fibers without a helper, the oldest first */
};

/*
 * Forks, hence before anything that a helper must not inherit.  `jobs`: the functions that helpers
 * run; main.c knows them all.
 */
int errands_new(struct errands *es, struct user_table *users, helper_job *const jobs[ERRAND_JOBS],
		struct reason *why);
void errands_free(struct errands *es);

/* Ends waits for a helper that were too long; returns the ms until the next one is due, or -1. */
int errands_due(struct errands *es);

struct errand;
/* -EAGAIN: all helpers of the user, or all that there may be, are at work; else -EIO. */
int errand_begin(struct errands *es, struct user *u, enum errand_job job, const void *arg,
		 size_t len, const int *fds, unsigned int nfds, unsigned int ms,
		 struct errand **out, struct reason *why);
/*
 * Waits for the next part of the answer: 1; at the end the job's result, 0 or -errno, or -ETIMEDOUT
 * after its time limit.
 */
int errand_next(struct errand *e, struct helper_part *part);
/* The caller needs no more of it; the helper may finish its job. */
void errand_end(struct errand *e);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errands: what the daemon has helper processes do (lib/base/helper.h), because it may hang: to
 * receive the descriptors of clients, to read the files and mappings of other users' processes, to
 * ask the kernel with a client's credentials.
 *
 * Meanwhile the fiber waits that sent the helper, and nobody else; outside of a fiber everybody
 * does, which is for tests and tools only.  An errand is charged to the user for whom it is until
 * its helper is free again or gone, so that one user's hanging files use up that user's share.  A
 * fiber whose user has no helper left waits for one, as long as one may take for its errand.
 */
#ifndef PMCBPF_ERRAND_H
#define PMCBPF_ERRAND_H

#include "lib/base/helper.h"
#include "loader/base/base.h"
#include "loader/policy/policy.h"

#define ERRANDS_MAX 64u			/* helper processes */
#define ERRAND_MS   5000u		/* what helpers have time for, each unless said */

enum errand_job {
	ERRAND_RECEIVE,			/* receives a request with descriptors */
	ERRAND_MAPPINGS,		/* reads a process's mappings */
	ERRAND_JOBS
};

TAILQ_HEAD(errand_waits, errand_wait);
struct errands {
	struct helpers *helpers;	/* NULL: there are none, as in tests */
	struct fibers *fibers;
	struct user_table *users;
	struct errand_waits waits;	/* fibers that have no helper yet, the longest first */
};

/*
 * Forks, hence before anything that a helper must not inherit.  `jobs`: the functions that helpers
 * run; main.c knows them all.
 */
int errands_new(struct errands *es, struct user_table *users, helper_job *const jobs[ERRAND_JOBS],
		struct why *why);
void errands_free(struct errands *es);

/* Gives up waits that were too long; returns the ms until the next one is due, -1: nobody waits. */
int errands_due(struct errands *es);

struct errand;
/* -EAGAIN: helpers of the user, or of all, hang; else -EIO, and `why` says so. */
int errand_begin(struct errands *es, struct user *u, enum errand_job job, const void *arg,
		 size_t len, const int *fds, unsigned int nfds, unsigned int ms,
		 struct errand **out, struct why *why);
/*
 * Waits for the next part of the answer: 1, or 0 at the end of a job that returned 0, or -errno;
 * -ETIMEDOUT: its time was over.
 */
int errand_next(struct errand *e, struct helper_part *part);
/* Nothing more of it is wanted; it may finish what it does. */
void errand_end(struct errand *e);

#endif

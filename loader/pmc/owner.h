/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owners: one per client process, shared by its connections, gone with the last of them.
 * Everything that the process holds hangs here.
 */
#ifndef PMCBPF_OWNER_H
#define PMCBPF_OWNER_H

#include <sys/queue.h>

#include "loader/count/count.h"
#include "loader/base/base.h"
#include "loader/policy/policy.h"

struct pmc;
struct logfile;

struct owner {
	struct owner *next;		/* in its bucket */
	struct cred cred;		/* as it connected */
	struct user *user;		/* that all of it is charged to */
	int pidfd;
	unsigned int connections, closing;	/* closing: of these, after their request */
	bool busy;			/* a request of it is at work, or its end */
	bool ended;			/* its connections close, and no other joins it … */
	uint64_t end;			/* … since this number of table.ends … */
	TAILQ_ENTRY(owner) in_ended;	/* … until everything it held has been released */
	bool left;			/* by its last connection: its end is due */
	struct fiber *waits;		/* for others to be released: owner_wait_ended() */
	uint64_t waits_end;
	TAILQ_ENTRY(owner) in_waits;
	unsigned int blocked;		/* connections that wait for that */
	unsigned int npmc;
	TAILQ_HEAD(, pmc) pmcs;		/* in the order of their allocation */
	struct count_owner *counts;	/* from the first allocation on */
	uint32_t lost_records;		/* of owner_maps_owner(), reported already */
	uint64_t lost_unmaps;		/* the same of programs_lost_records() */
	struct user_stats stats;	/* its own part of the user's … */
	bool logged;			/* … which is what it is shown: it has, or had, a log */
	struct logfile *log;		/* NULL: none */
	bool signals_known;		/* its library has reported … */
	uint32_t signals;		/* … those that it takes, bit N - 1 for signal N */
	char program[17];
};

struct owner_table {
	struct owner **bucket;
	unsigned int buckets, owners;
	uint64_t ends;			/* owners that have ended, ever */
	TAILQ_HEAD(, owner) ended;	/* and still hold something, the longest first */
	TAILQ_HEAD(, owner) waits;
	const struct debug *debug;
	void (*free_log)(struct logfile *log);	/* with an owner's end */
};

int owner_table_init(struct owner_table *t, unsigned int buckets, const struct debug *debug);
void owner_table_free(struct owner_table *t);

/*
 * The record of a process, one connection richer.  Takes the pidfd over, also on failure.
 * cred->start differs from that of an earlier process of the same number.  A new record keeps
 * `user`.
 */
int owner_get(struct owner_table *t, struct user *user, const struct cred *cred, int pidfd,
	      struct owner **out);

/* The records of a process number: one, or a few while the end of an earlier process is due. */
struct owner *owner_first(const struct owner_table *t, pid_t pid);
struct owner *owner_next(const struct owner *o);
/* One of them has not ended. */
bool owner_current(const struct owner_table *t, pid_t pid);

/* Its process has exited or become another program, or its last connection has closed. */
void owner_end(struct owner_table *t, struct owner *o);

/*
 * hwpmc releases what a process holds before anybody can see that the process is gone.  Here that
 * is done in slices, so a request of `o` that was refused waits until all owners that have ended by
 * now are released, and is tried once more.  False: there is nothing to wait for, or `o` has ended.
 */
bool owner_wait_ended(struct owner_table *t, struct fibers *fs, struct owner *o);

/* The last connection takes the record along; its PMCs must have been released. */
void owner_put(struct owner_table *t, struct owner *o);

/* True once the process has exited. */
bool owner_gone(const struct owner *o);

#endif

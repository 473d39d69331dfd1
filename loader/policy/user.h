/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Users and their quotas.  Whatever the daemon has only so many of (connections, log buffers, sets,
 * descriptors …) is a pool; everything taken from a pool is charged to the user whose process asked
 * for it.  An unprivileged user may have user.share percent of a pool, and all of them together
 * leave user.reserve percent of it to privileged ones, so that an administrator can always connect,
 * count and list.  The event loop's alone.
 *
 * A user is a uid of the host.  In a user namespace uids cost nothing, so the processes there are
 * charged to the user who made the outermost namespace; where that is root, as a container engine
 * is, to their uid in that namespace.  A privileged process is another user than the unprivileged
 * ones of the same uid.
 */
#ifndef PMCBPF_USER_H
#define PMCBPF_USER_H

#include <sys/queue.h>

#include "rules.h"

enum pool_kind {
	POOL_CONNECTIONS,
	POOL_LOG_BUFFERS,		/* kern.hwpmc.nbuffers */
	POOL_FILE_BUFFERS,		/* for bursts of records to files, beyond those */
	POOL_LOGS,			/* until the writer's thread has ended */
	POOL_SAMPLERS,			/* PMCs with records of their own in the rings */
	POOL_SETS,			/* combinations of PMCs that measure a process */
	POOL_TARGETS,			/* processes that are measured */
	POOL_EVENTS,			/* descriptors of perf events and registers */
	POOL_SOURCES,			/* software events that slices are cut from */
	POOL_REGISTERS,			/* the same of registers */
	POOL_SHARES,			/* counts of single processes for PMC_F_LOG_PROCEXIT */
	POOL_HELPERS,			/* work on files and processes that is not done yet */
	POOLS
};

/* What hwpmc's statistics have about one user, or one process. */
struct user_stats {
	uint32_t intr_processed, intr_bufferfull;
	uint32_t buffer_requests, buffer_requests_failed;
	uint64_t chains_cut;		/* in the log, and callers are missing */
};

struct user {
	LIST_ENTRY(user) next;
	struct user_table *table;
	uid_t uid;
	uint64_t user_ns;		/* of a container that root made; 0: none */
	bool privileged;
	unsigned int references;
	unsigned int used[POOLS];
	TAILQ_HEAD(, work) works;	/* of work.c: what is ready … */
	TAILQ_ENTRY(user) turn;		/* … and the place among the users that have some */
	bool in_turn;
	unsigned int account;		/* number that the programs have for it, 0: none … */
	unsigned int counting;		/* … until none of its processes counts: account.c */
	struct user_stats stats;
};

LIST_HEAD(user_list, user);
struct user_table {
	struct user_list users;
	const struct config *config;	/* user.share, user.reserve */
	unsigned int size[POOLS];
	unsigned int used[POOLS];
};

void user_table_init(struct user_table *t, const struct config *config);
/* How much there is of a pool. */
void user_pool(struct user_table *t, enum pool_kind pool, unsigned int size);

/* The user whom a process is charged to, one reference richer; NULL: no memory. */
struct user *user_get(struct user_table *t, const struct cred *cred);
/* What the user still has keeps the record until it is given back. */
void user_put(struct user *u);

/* -EAGAIN: the user's share or the pool is used up, and `why` names both and the tunable. */
int user_take(struct user_table *t, struct user *u, enum pool_kind pool, unsigned int n,
	      struct why *why);
void user_give(struct user_table *t, struct user *u, enum pool_kind pool, unsigned int n);
/* Would user_take() do? */
int user_may(const struct user_table *t, const struct user *u, enum pool_kind pool, unsigned int n,
	     struct why *why);
/* Takes whatever the limits say: for what must not fail, and what has been taken before bounds. */
void user_charge(struct user_table *t, struct user *u, enum pool_kind pool, unsigned int n);

/*
 * The limits as numbers, for a pool of which the programs take by themselves: the user's own, and
 * the one on all users' use together beyond which this one gets nothing.
 */
void user_limits(const struct user_table *t, const struct user *u, enum pool_kind pool,
		 unsigned int *own, unsigned int *all);
/* Of n things, those kept for privileged users: one at least, unless n is 1 or the tunable 0. */
unsigned int user_reserve(const struct user_table *t, unsigned int n);
/* … and those that one unprivileged user may have: one at least. */
unsigned int user_share(const struct user_table *t, unsigned int n);
/* How much more of the pool the user may take now. */
unsigned int user_room(const struct user_table *t, const struct user *u, enum pool_kind pool);

#endif

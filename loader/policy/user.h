/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Users and their quotas.
 *
 * Each limited resource (connections, log buffers, sets, descriptors …) is a pool, and each unit
 * taken from a pool is charged to the user of the process that requested it.  One unprivileged user
 * may have user.share percent of a pool.  All of them together leave user.reserve percent to
 * privileged ones, so that an administrator can always connect, count and list.
 *
 * A user is a uid of the host.  In a user namespace a process can take on many uids, so its
 * processes are charged to the user that made the outermost namespace; if that is root, as with
 * container engines, to their uid in that namespace.  Privileged and unprivileged processes of one
 * uid are two users.
 *
 * A user's record lives while it is referenced: each unit taken from a pool is a reference.
 * Example: user_take(t, u, POOL_LOGS, 1, &why) refuses with -EAGAIN if u has its share of logs, or
 * if all users have all but the reserve; the reason names both limits and the tunable.  After
 * user_give(t, u, POOL_LOGS, 1) that unit is free again; the last unit takes the record with it.
 *
 * Only the event loop's thread uses users.
 */
#ifndef PMCBPF_USER_H
#define PMCBPF_USER_H

#include <sys/queue.h>

#include "lib/base/wire.h"
#include "rules.h"

enum pool_kind {
	POOL_CONNECTIONS,
	POOL_LOG_BUFFERS,		/* kern.hwpmc.nbuffers */
	POOL_FILE_BUFFERS,		/* for bursts of records to files, beyond those */
	POOL_LATE,			/* KB of samples to complete, and records behind them */
	POOL_LOGS,			/* given back when the writer's thread has ended */
	POOL_SAMPLERS,			/* PMCs that write records to the rings */
	POOL_SETS,			/* combinations of PMCs that measure a process */
	POOL_TARGETS,			/* measured processes */
	POOL_EVENTS,			/* descriptors of perf events and registers */
	POOL_SOURCES,			/* software events, counted in slices */
	POOL_TRACEPOINTS,		/* tracepoints, once for each of them */
	POOL_REGISTERS,			/* registers, counted in slices */
	POOL_CGROUPS,			/* PMCs of cgroups, counted in slices */
	POOL_THREADS,			/* PMCs of single threads, counted in slices */
	POOL_SHARES,			/* counts of single processes for PMC_F_LOG_PROCEXIT */
	POOL_HELPERS,			/* helper processes at work */
	POOLS
};

/* Parts of a pool, in percent. */
enum user_part {
	USER_SHARE,			/* the most that one user may have */
	USER_RESERVE,			/* reserved for privileged users */
	USER_PARTS
};

/* hwpmc's statistics, for one user or one process. */
struct user_stats {
	uint32_t intr_processed, intr_bufferfull;
	uint32_t buffer_requests, buffer_requests_failed;
	struct wire_losses losses;
};

struct user {
	LIST_ENTRY(user) next;
	struct user_table *table;
	uid_t uid;
	uint64_t user_ns;		/* of a container that root made; 0: none */
	bool privileged;
	unsigned int references;
	unsigned int used[POOLS];
	unsigned int pmcs;		/* of all its processes */
	const struct site_rule *rule[USER_PARTS];	/* NULL: the tunable decides */
	uint64_t ruled;			/* the number of the process that these rules select */
	TAILQ_HEAD(, work) works;	/* server/work.h: ready work … */
	TAILQ_ENTRY(user) turn;		/* … and the place among the users that have any */
	bool in_turn;
	unsigned int account;		/* count/account.h: its number in the programs; 0: none */
	unsigned int counting;		/* owners with that account */
	uint64_t last_load;		/* kernel/load_thread.h: its latest turn */
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
/* Sets the size of a pool. */
void user_pool(struct user_table *t, enum pool_kind pool, unsigned int size);

/* A new reference to the user that a process is charged to; NULL: no memory. */
struct user *user_get(struct user_table *t, const struct cred *cred);
void user_put(struct user *u);
/* The user's parts are those of the process that connected last: the highest number. */
void user_set_rules(struct user *u, const struct grant *g, uint64_t number);
/* Before the rules are replaced: the tunables decide for all users. */
void user_drop_rules(struct user_table *t);
/* Formats "user.share=25 percent", or the rule that decides instead of the tunable. */
#define USER_PART_TEXT 192u
void user_part_text(const struct user *u, enum user_part part, char *buf, size_t size);

/* -EAGAIN: the user's share or the pool is used up. */
int user_take(struct user_table *t, struct user *u, enum pool_kind pool, unsigned int n,
	      struct reason *why);
void user_give(struct user_table *t, struct user *u, enum pool_kind pool, unsigned int n);
/* The result that user_take() would return. */
int user_may(const struct user_table *t, const struct user *u, enum pool_kind pool, unsigned int n,
	     struct reason *why);
/* Charges regardless of the limits: for units that must not be refused, or were taken already. */
void user_charge(struct user_table *t, struct user *u, enum pool_kind pool, unsigned int n);

/*
 * The limits as numbers, for pools that the programs take from themselves.  `own`: for this user's
 * units; `all`: for all users' units when this user takes more.
 */
void user_limits(const struct user_table *t, const struct user *u, enum pool_kind pool,
		 unsigned int *own, unsigned int *all);
/* The part of n that this user leaves to privileged users: at least 1, unless n is 1 or 0 %. */
unsigned int user_reserve(const struct user *u, unsigned int n);
/* The part of n that this user may have, if it is unprivileged: at least 1. */
unsigned int user_share(const struct user *u, unsigned int n);
/* Of n things, as many as this user may have, and as all users may have together with this one. */
void user_parts(const struct user *u, unsigned int n, unsigned int *own, unsigned int *all);
/* The units of the pool that the user may still take. */
unsigned int user_room(const struct user_table *t, const struct user *u, enum pool_kind pool);

#endif

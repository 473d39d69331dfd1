/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owners: one per client process, shared by its connections, freed with the last of them.  All that
 * the process holds is attached to it.
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
	struct cred cred;		/* at connect() */
	struct user *user;		/* the user charged for all of it */
	uint64_t number;		/* in the order in which processes connected */
	struct grant grant;		/* the administrator's rules for it */
	int pidfd;
	unsigned int connections, closing;	/* closing: those that close after their request */
	bool busy;			/* a request of it, or its end, is in progress */
	bool ended;			/* its connections close, and no new one joins it … */
	uint64_t end;			/* … since this number of table.ends … */
	TAILQ_ENTRY(owner) in_ended;	/* … until everything it held has been released */
	bool left;			/* its last connection has closed: its end is due */
	struct fiber *waits;		/* in owner_wait_ended() */
	uint64_t waits_end;
	TAILQ_ENTRY(owner) in_waits;
	unsigned int blocked;		/* connections that wait for that */
	unsigned int npmc;
	TAILQ_HEAD(, pmc) pmcs;		/* in the order of their allocation */
	struct count_owner *counts;	/* exists since the first allocation */
	uint32_t lost_records;		/* of owner_maps_owner(), already reported */
	uint64_t lost_unmaps;		/* of programs_lost_records(), already reported */
	struct user_stats stats;	/* its own part of the user's statistics … */
	bool logged;			/* … which it is shown once it has had a log */
	struct logfile *log;		/* NULL: none */
	bool signals_known;		/* its library has reported its signals … */
	uint32_t signals;		/* … with a handler, bit N - 1 for signal N */
	char program[17];
};

struct owner_table {
	struct owner **bucket;
	unsigned int buckets, owners;
	uint64_t numbers;		/* given to owners so far */
	uint64_t ends;			/* number of owners that have ended */
	TAILQ_HEAD(, owner) ended;	/* those that still hold something, the oldest first */
	TAILQ_HEAD(, owner) waits;
	const struct debug *debug;
};

int owner_table_init(struct owner_table *t, unsigned int buckets, const struct debug *debug);
void owner_table_free(struct owner_table *t);

/*
 * Adds a connection to the record of a process, which is created if need be.  Takes the pidfd over,
 * also on failure.  cred->start distinguishes it from earlier processes of the same number.  A new
 * record keeps `user`.
 */
int owner_get(struct owner_table *t, struct user *user, const struct cred *cred, int pidfd,
	      struct owner **out);

/* The records of a pid: one, or a few while the end of earlier processes is due. */
struct owner *owner_first(const struct owner_table *t, pid_t pid);
struct owner *owner_next(const struct owner *o);
/* True if one of them has not ended. */
bool owner_current(const struct owner_table *t, pid_t pid);

/* Its process has exited or executed another program, or its last connection has closed. */
void owner_end(struct owner_table *t, struct owner *o);

/*
 * hwpmc releases a process's PMCs before others can see that the process is gone.  Here they are
 * released in slices, so a refused request of `o` waits until all owners that have ended by now are
 * released, and is tried once more.  False: there is nothing to wait for, or `o` has ended.
 */
bool owner_wait_ended(struct owner_table *t, struct fibers *fs, struct owner *o);

/* Closes a connection; the last one frees the record, whose PMCs must have been released. */
void owner_put(struct owner_table *t, struct owner *o);

/* True if its log gets the events of all processes. */
bool owner_logs_all(const struct owner *o);
/* True if its log may have the addresses of kernel modules. */
bool owner_knows_kernel(const struct owner *o);

/* True once the process has exited. */
bool owner_gone(const struct owner *o);

/*
 * `n` records of its log are missing, and at `gaps` places an unknown number.  Counted for `all`
 * owners, too.
 */
void owner_lost(struct owner *o, struct wire_driverstats *all, uint32_t n, uint32_t gaps);

#endif

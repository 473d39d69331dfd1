/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of libpmc-compat: one for each process. */
#ifndef PMCBPF_LIB_H
#define PMCBPF_LIB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "call.h"
#include "lib/base/reason.h"
#include "lib/base/sigdefer.h"
#include "lib/base/wire.h"
#include "lib/event/event.h"
#include "lib/read/read.h"

/* PMC_NO_ARITY_MACRO: pmc.c defines the functions that the macro would rewrite. */
#define PMC_NO_ARITY_MACRO
#include <pmc.h>

enum lib_state {
	LIB_NEW,	/* pmc_init() has not succeeded yet */
	LIB_UP,
	LIB_GONE,	/* the daemon has ended, and every PMC with it */
	LIB_CLOSED,	/* the program has closed the connection's descriptor: the same */
	LIB_FORKED,	/* a child after fork(): the next request makes its own connection */
};

/*
 * `io` protects the connection, the members behind it, and is held for a round trip.  `table`
 * serializes changes of `reads`; its readers take no lock.  `groups` protects the lists of group.c.
 * `handles` is held from the request that allocates or releases a PMC until the tables and lists
 * know it, because the daemon may give a released handle to another thread at once.  `init`
 * serializes pmc_init(), which alone writes the members behind it.  The locks are taken in the
 * order init, handles, io, table, groups, and only between sigdefer_begin() and sigdefer_end().
 */
struct lib {
	pthread_mutex_t io;
	enum lib_state state;
	struct ownfd socket, spare;
	uint32_t seq;
	pid_t pid;			/* the process that made the connection */
	uint8_t *buffer;		/* WIRE_MAX_REPLY bytes */
	unsigned int connections;	/* made so far by pmc_init(), not after a fork */
	bool emulated;			/* result of sigdefer_emulated(): the daemon gets … */
	uint32_t signals;		/* … the program's signals; the last sent, ~0: none yet */
	int log_fd;			/* the program's log, its own descriptor; -1: none */
	ino_t log_ino;

	pthread_mutex_t table;
	struct read_shared reads;
	uint32_t *unplaced;		/* PMCs that have no place on the page, … */
	size_t nunplaced, unplaced_room; /* … under the lock `table` as well */

	pthread_mutex_t handles;

	pthread_mutex_t groups;
	struct group *group;		/* a list; group.c */
	struct group_candidate *candidate; /* PMCs that were allocated for groups */
	unsigned int ncandidates, candidate_room;
	uint32_t group_ids;		/* given out so far */

	pthread_mutex_t init;
	bool known;			/* the members below are valid … */
	unsigned int described;		/* … and describe the daemon of this connection */
	struct machine machine;
	struct pmc_cpuinfo info;
};

extern struct lib pmc_lib;

#endif

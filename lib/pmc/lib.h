/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the modules of libpmc-compat share.  Inside, functions return 0 or a negative errno and put
 * the reason of a failure into a struct reason; pmc.c and query.c turn that into -1 and errno.
 */
#ifndef PMCBPF_LIB_H
#define PMCBPF_LIB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "ownfd.h"
#include "lib/read/readshare.h"
#include "lib/base/reason.h"
#include "lib/base/wire.h"

/* PMC_NO_ARITY_MACRO: pmc.c defines the functions that the macro would rewrite. */
#define PMC_NO_ARITY_MACRO
#include <pmc.h>

#define PMC_API_PUBLIC __attribute__((visibility("default")))

enum lib_state {
	LIB_NEW,	/* pmc_init() has not succeeded yet */
	LIB_UP,
	LIB_GONE,	/* the daemon is away; its PMCs are too */
	LIB_CLOSED,	/* the program has closed the connection's number: the same */
	LIB_FORKED,	/* a child after fork(): the next request makes its own connection */
};

/* Of the classes whose events the daemon lists. */
struct lib_event {
	char name[WIRE_NAME_MAX];
	uint32_t code;
	uint32_t flags;
};
struct lib_events {
	struct lib_event *event;
	unsigned int n;
};

/*
 * Everything the library remembers.  `io` covers the connection and is held for a round trip;
 * `table` covers changes of `reads`, whose readers take no lock.  `init` is taken first, then `io`,
 * then `table`; each between lib_block() and lib_unblock() only.  The members from `cpu` on are
 * written by pmc_init() only.
 */
struct lib {
	pthread_mutex_t io;
	enum lib_state state;
	struct ownfd socket, spare;
	uint32_t seq;
	pid_t pid;			/* the process that made the connection */
	uint8_t *buffer;		/* WIRE_MAX_REPLY bytes */
	unsigned int connections;	/* made so far by pmc_init(), not after a fork */
	bool emulated;			/* the kernel's signal handlers are not the program's … */
	uint32_t signals;		/* … which the daemon has been sent; ~0: not yet */
	int log_fd;			/* the program's, of its log; -1: none */
	ino_t log_ino;

	pthread_mutex_t table;
	struct read_shared reads;

	pthread_mutex_t init;
	bool known;			/* the members below are valid … */
	unsigned int described;		/* … and tell what was found on this connection */
	struct wire_cpuinfo cpu;
	struct pmc_cpuinfo info;
	struct lib_events soft, msr;
};

extern struct lib pmc_lib;

/* The class of this machine, or NULL. */
const struct wire_classinfo *lib_class(const struct lib *l, uint32_t class);

/* This thread's reason; emptied. */
struct reason *lib_begin(void);
/* Turns 0 or -errno into 0 or -1 with errno, remembering it for pmc_errstr(). */
int lib_end(int err);

/*
 * Between these two no handler of a signal runs in this thread, but a fault's, and it is not
 * cancelled: the only places to take a lock.  They nest.
 */
void lib_block(void);
void lib_unblock(void);
/* The same as a pair with lib_begin() and lib_end(), for what a whole call does. */
struct reason *lib_enter(void);
int lib_leave(int err);
/* A wait that lasts: from here on signals that no handler takes may end or stop the program. */
void lib_wait_on(void);
/* Has the program a handler of the signal, or does it wait for it?  After lib_block() only. */
bool lib_takes_signal(int sig);
/*
 * Something between the kernel and the program handles its signals, as valgrind does: the kernel
 * shows handlers that sigaction(2) does not.
 */
bool lib_emulated(void);
/* EFAULT for a missing argument, with its name. */
int lib_missing(struct reason *why, const char *argument);

#endif

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

#include "read.h"
#include "reason.h"
#include "wire.h"

/* PMC_NO_ARITY_MACRO: pmc.c defines the functions that the macro would rewrite. */
#define PMC_NO_ARITY_MACRO
#include <pmc.h>

#define PMC_API_PUBLIC __attribute__((visibility("default")))

enum lib_state {
	LIB_NEW,	/* pmc_init() has not succeeded yet */
	LIB_UP,
	LIB_GONE,	/* the daemon is away; its PMCs are too */
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
 * `table` covers `reads` and `alive`, so that a reader never waits for another thread's request.
 * `io` is taken first.  The members from `cpu` on are written by pmc_init() only.
 */
struct lib {
	pthread_mutex_t io;
	enum lib_state state;
	int fd;
	uint32_t seq;
	pid_t pid;			/* the process that made the connection */
	uint8_t *buffer;		/* WIRE_MAX_REPLY bytes */
	unsigned int connections;	/* made so far by pmc_init(), not after a fork */
	int log_fd;			/* the program's, of its log; -1: none */
	ino_t log_ino;

	pthread_rwlock_t table;
	struct read_table reads;

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
/* EFAULT for a missing argument, with its name. */
int lib_missing(struct reason *why, const char *argument);

#endif

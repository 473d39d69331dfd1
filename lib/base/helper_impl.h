/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The protocol between the daemon's side (helper.c, helper_close.c) and the helpers' side
 * (helper_process.c); and the state of the daemon's side.
 */
#ifndef PMCBPF_BASE_HELPER_IMPL_H
#define PMCBPF_BASE_HELPER_IMPL_H

#include <sys/queue.h>

#include "helper.h"
#include "message.h"

#define HELPER_JOB_CLOSE ~0u		/* the one job of our own */

#define HELPER_END_CALL 1u		/* of the call */
#define HELPER_END_ALL	2u		/* … and of the helper, which takes no other */

/* Before the argument of a call. */
struct helper_order {
	uint32_t job;
	uint32_t reserved;
};
/* Before each part. */
struct helper_answer {
	uint32_t end;			/* HELPER_END_…; not 0: it is the last, `result` holds */
	int32_t result;
};

/* The spawner: until the daemon has gone. */
_Noreturn void helper_process_serve(int socket, const struct helpers_spec *spec);

/* --- the daemon's side ------------------------------------------------------------------------ */

struct helper {
	LIST_ENTRY(helper) next;	/* in the list of its state */
	int socket;			/* -1: it has been killed, and may not be gone yet */
	int pidfd;			/* -1: it was freed in this turn */
	bool exited;
	struct helper_task *task;	/* NULL: it is idle, closes descriptors, or was given up */
	uint64_t deadline;		/* ns; 0: it is not at work */
	bool closing;			/* it closes descriptors for helper_dispose() */
	void (*over)(struct helper_task *t);
	struct helper_task *charged;	/* for over(), once it is free or gone */
};
LIST_HEAD(helper_list, helper);

struct helpers {
	int spawner;			/* socket */
	bool lost;			/* the spawner has died */
	int epoll, timer;
	unsigned int max, n, idle_n;
	struct helper_list idle, busy;
	struct helper_list ending;	/* killed, but not yet exited */
	struct helper_list dead;	/* freed after the events of a turn */
	unsigned int closing_n;		/* helpers with `closing` */
	int *waiting;			/* descriptors that wait for a helper to close them */
	unsigned int waiting_n, waiting_room;
	uint8_t data[HELPER_MAX_PART];	/* the part that was read last */
};

/* An idle or a new helper, moved to the busy list; NULL: none is free. */
struct helper *helper_take(struct helpers *h);
/* Sends a call with a deadline in `ms`; the helper is ended if that fails. */
int helper_order(struct helpers *h, struct helper *p, uint32_t job, const void *arg, size_t len,
		 const int *fds, unsigned int nfds, unsigned int ms);
/* Reads from a helper without a task; the end of its call frees it. */
void helper_drain(struct helpers *h, struct helper *p);
/* The process is gone. */
void helper_exited(struct helpers *h, struct helper *p);

/* Passes descriptors that wait to helpers. */
void helper_close_waiting(struct helpers *h);

#endif

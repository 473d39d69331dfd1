/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Helper processes of a daemon do the work that may hang.
 *
 * A descriptor received from a client, or a file that a client has chosen, can block every process
 * that touches it: close(2) waits for SO_LINGER and for a FUSE server's answer to FLUSH, fstat(2)
 * and read(2) wait for a remote or user-space file system.  Some of these waits cannot be
 * interrupted, not even by SIGKILL, and a thread in such a wait keeps its whole process from
 * exiting.  So this work is done by processes that share nothing with the daemon but one socket.
 *
 * The daemon forks the spawner before it has anything to inherit; the spawner forks the helpers.
 * A helper does one call at a time: the daemon sends a job's number, its argument and descriptors,
 * the helper answers with any number of parts and a result.  A call that misses its deadline is
 * given up: the helper is killed, and counts against the limit until it has exited.
 *
 * All functions but helper_emit() belong to the daemon, to one thread of it.  None blocks, except
 * for some 0.3 ms while the spawner makes a new helper.
 */
#ifndef PMCBPF_BASE_HELPER_H
#define PMCBPF_BASE_HELPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"

#define HELPER_MAX_ARG	4096u		/* bytes of an argument */
#define HELPER_MAX_PART 61440u		/* bytes of a part of the answer */
#define HELPER_MAX_FDS	MESSAGE_MAX_FDS	/* descriptors of either */
#define HELPER_CLOSERS	8u		/* limit of helpers that close descriptors */

struct helpers;

/* --- in a helper ------------------------------------------------------------------------------ */

struct helper_call {
	const void *arg;
	size_t len;
	int *fds;			/* the helper closes those that the job leaves open */
	unsigned int nfds;
	int socket;			/* of the daemon; helper_emit()'s */
};

/* A job's result is the call's; 0 or -errno by convention. */
typedef int helper_job(struct helper_call *call);

/* Sends a part of the answer; the descriptors stay the job's.  It waits for the daemon to read. */
int helper_emit(const struct helper_call *call, const void *data, size_t len, const int *fds,
		unsigned int nfds);

/*
 * Ends the job and its helper.  It needs write(2) and exit_group(2) only: for jobs that have given
 * up all other system calls, and can pass no descriptor on.
 */
_Noreturn void helper_finish(const struct helper_call *call, int result);

/* --- in the daemon ---------------------------------------------------------------------------- */

struct helpers_spec {
	const char *name;		/* in ps(1) */
	helper_job *const *jobs;
	unsigned int njobs;
	unsigned int max;		/* helpers that live at a time */
	uint64_t capabilities;		/* a bit for each that the jobs need; all others are gone */
};

/* To be called before any thread, socket or map exists. */
int helpers_new(struct helpers **out, const struct helpers_spec *spec);
/* Calls under way are given up; helpers that hang are left to the kernel. */
void helpers_free(struct helpers *h);

/* Readable when helpers_run() has something to do. */
int helpers_fd(const struct helpers *h);
void helpers_run(struct helpers *h);
/* The part of helpers_run() that is about descriptors which are being closed: it calls no task. */
void helpers_reap(struct helpers *h);
/* Once in each turn of the loop: passes disposed descriptors to helpers, and keeps two ready. */
void helpers_settle(struct helpers *h);
/* Helpers, including killed ones that have not exited. */
unsigned int helpers_alive(const struct helpers *h);
/* Disposed descriptors that wait for a helper to close them. */
unsigned int helpers_waiting(const struct helpers *h);
/* The spawner has died, and all helpers with it; only a new daemon can have helpers again. */
bool helpers_lost(const struct helpers *h);

struct helper_task {
	/* There is something for helper_read(), or the deadline has passed. */
	void (*ready)(struct helper_task *t);
	/* The helper is free or gone: the call no longer counts against its user's limit. */
	void (*over)(struct helper_task *t);
	struct helper *helper;		/* NULL: the call is over */
	int result;			/* for a call that is over before it was read */
};

/*
 * Begins a call with a deadline in `ms`; descriptors are copied.  The task stays where it is until
 * helper_read() has returned its end, or helper_leave() or helper_cancel() has been called, and
 * until over() has been.  -EAGAIN: `max` helpers are at work; -EIO: no helper can be made.
 */
int helper_start(struct helpers *h, struct helper_task *t, unsigned int job, const void *arg,
		 size_t len, const int *fds, unsigned int nfds, unsigned int ms);

enum helper_state {
	HELPER_PART,			/* a part has been read */
	HELPER_LATER,			/* nothing yet: ready() will be called */
	HELPER_END,			/* task->result: the job's, -ETIMEDOUT, or -EIO: it died */
};
struct helper_part {
	const uint8_t *data;		/* until the next call of any of these functions */
	size_t len;
	int fds[HELPER_MAX_FDS];	/* the caller's from now on */
	unsigned int nfds;
};
enum helper_state helper_read(struct helpers *h, struct helper_task *t, struct helper_part *part);
/* Blocks until helper_read() has something to return; for callers without an event loop. */
void helper_wait(struct helpers *h, const struct helper_task *t);

/* The caller needs no more of the answer; the helper may use its time to finish. */
void helper_leave(struct helper_task *t);
/* Gives the call up. */
void helper_cancel(struct helpers *h, struct helper_task *t);

/*
 * Closes descriptors that may come from a client.  A helper receives and closes them, so that the
 * caller's own close(2) is never the last one.  Only for descriptors without a flush operation:
 * sockets, pipes, and files that are known to be harmless.
 */
void helper_dispose(struct helpers *h, const int *fds, unsigned int nfds);
/*
 * Ends a connection; the peer is notified at once.  If messages are unread they may carry
 * descriptors, which the last close(2) of the socket would close: then the socket is disposed of.
 */
void helper_hang_up(struct helpers *h, int socket);

#endif

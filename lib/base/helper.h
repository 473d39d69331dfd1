/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Helper processes of a daemon: they do whatever may hang.
 *
 * A descriptor that a stranger has sent, or a file that he has chosen, can hold up every process
 * that touches it: close(2) waits for SO_LINGER and for a FUSE server's answer to FLUSH, fstat(2)
 * and read(2) wait for a file system that another program or machine answers for.  Some of these
 * waits end with no signal, not even SIGKILL, and a thread in such a wait keeps its whole process
 * from exiting.  So this work is done by processes that share nothing with the daemon but one
 * socket.
 *
 * The spawner is forked from the daemon before that has anything to inherit; it forks the helpers.
 * A helper does one call at a time: the daemon sends a job's number, its argument and descriptors,
 * the helper answers with any number of parts and a result.  A call that is not done by its
 * deadline is given up: the helper is killed and counts against the limit until the kernel lets go
 * of it.
 *
 * All functions but helper_emit() are the daemon's, and its one thread's.  No call waits, but for a
 * new helper, which the spawner makes in some 0.3 ms.
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
#define HELPER_CLOSERS	8u		/* at most, that close what was disposed of */

struct helpers;

/* --- in a helper ------------------------------------------------------------------------------ */

struct helper_call {
	const void *arg;
	size_t len;
	int *fds;			/* the helper closes what the job leaves open */
	unsigned int nfds;
	int socket;			/* of the daemon; helper_emit()'s */
};

/* A job's result is the call's; 0 or -errno by convention. */
typedef int helper_job(struct helper_call *call);

/* Sends a part of the answer; the descriptors stay the job's.  It waits for the daemon to read. */
int helper_emit(const struct helper_call *call, const void *data, size_t len, const int *fds,
		unsigned int nfds);

/* --- in the daemon ---------------------------------------------------------------------------- */

/*
 * To be called before any thread, socket or map exists.  At most `max` helpers live at a time.
 * `name` is what ps(1) shows.
 */
int helpers_new(struct helpers **out, const char *name, helper_job *const *jobs,
		unsigned int njobs, unsigned int max);
/* Calls under way are given up; helpers that hang are left to the kernel. */
void helpers_free(struct helpers *h);

/* Readable when helpers_run() has something to do. */
int helpers_fd(const struct helpers *h);
void helpers_run(struct helpers *h);
/* To be called once in each turn of the loop: helpers close what was disposed of, and two exist. */
void helpers_settle(struct helpers *h);
/* Helpers, also those that the kernel has not let go of. */
unsigned int helpers_alive(const struct helpers *h);
/* Descriptors that have been disposed of, and wait for a helper to close them. */
unsigned int helpers_waiting(const struct helpers *h);
/* The spawner has died, and all helpers with it: there are none until the daemon starts anew. */
bool helpers_lost(const struct helpers *h);

struct helper_task {
	/* There is something for helper_read(), or the deadline has passed. */
	void (*ready)(struct helper_task *t);
	/* The helper is another's from now on, or gone: what the call was charged to is free. */
	void (*over)(struct helper_task *t);
	struct helper *helper;		/* NULL: the call is over */
	int result;			/* of a call that is over before it was read */
};

/*
 * Begins a call, which has `ms` to be done; descriptors are copied.  The task stays where it is
 * until helper_read() has returned its end, or helper_leave() or helper_cancel() has been called,
 * and until over() has been.
 * -EAGAIN: `max` helpers are at work; -EIO: there can be none.
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
/* Waits for what helper_read() would return instead of HELPER_LATER; for who has no event loop. */
void helper_wait(struct helpers *h, const struct helper_task *t);

/* The caller has all that it wants: the helper may take the rest of its time to finish. */
void helper_leave(struct helper_task *t);
/* Gives the call up. */
void helper_cancel(struct helpers *h, struct helper_task *t);

/*
 * Closes descriptors that may be a stranger's: they are passed to a helper and closed there, so
 * that the caller's own close(2) is never the last one.  For what has no flush of its own: sockets,
 * pipes, and files that have been found to be harmless.
 */
void helper_dispose(struct helpers *h, const int *fds, unsigned int nfds);
/*
 * Ends a connection: its peer sees that at once.  Where something is unread in it, that may be
 * descriptors of the peer's, which go with the last reference of the socket: it is disposed of.
 */
void helper_hang_up(struct helpers *h, int socket);

#endif

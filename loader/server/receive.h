/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages that carry descriptors.  A stranger's descriptor must never become the daemon's: to
 * close it, or to look at it, may take as long as the stranger likes.  So a helper process receives
 * such a message, looks at what came along, and passes on what is known to be harmless: pidfds,
 * files that prove access to a process, and destinations of logs.  It closes the rest itself.
 */
#ifndef PMCBPF_RECEIVE_H
#define PMCBPF_RECEIVE_H

#include <sys/socket.h>

#include "lib/base/helper.h"
#include "lib/base/wire.h"
#include "loader/log/logdest.h"
#include "loader/base/base.h"

#define RECEIVE_FDS 2u			/* what an operation takes at most */

/* What came along, in the order of the message. */
struct received {
	struct ucred sender;
	uint32_t has_sender;		/* the sender's credentials came along */
	uint32_t truncated;		/* longer than WIRE_MAX_REQUEST, or too many descriptors */
	uint32_t nfds;			/* that the message had */
	uint32_t len;			/* bytes of `data` */
	uint32_t slow_close;		/* what was passed on is not to be closed in the loop */
	int32_t passed[RECEIVE_FDS];	/* 0: it was passed on; else why it was not, -errno … */
	struct why why;			/* … of the first of those */
	struct logdest dest;		/* of a log: where it is written to */
	uint8_t data[WIRE_MAX_REQUEST];
};

/* Does the message that is next carry descriptors?  1, 0, or -errno: there is none. */
int receive_peek(int fd);
/* Receives a message without descriptors. 1, 0: there is none yet; -errno: the end. */
int receive_plain(int fd, struct received *in);

/* In a helper: fds[0] is the connection.  The answer is one part, a struct received. */
int receive_job(struct helper_call *call);

#endif

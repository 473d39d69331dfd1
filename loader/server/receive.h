/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receives packets.  A packet may have descriptors, and the daemon must not hold a client's
 * descriptor unchecked: closing it or reading its status may take as long as the client likes.  So
 * a helper process receives such a packet, checks its descriptors, and passes on the harmless ones:
 * pidfds, files that prove access to a process, and destinations of logs.  It closes the rest.
 */
#ifndef PMCBPF_RECEIVE_H
#define PMCBPF_RECEIVE_H

#include <sys/socket.h>

#include "lib/base/helper.h"
#include "lib/base/wire.h"
#include "loader/log/log.h"
#include "loader/base/base.h"

#define RECEIVE_FDS 2u			/* most descriptors of an operation */

/* A packet with its credentials, and the outcome for its descriptors. */
struct received {
	struct ucred sender;
	uint32_t has_sender;		/* the kernel has sent credentials */
	uint32_t truncated;		/* longer than WIRE_MAX_REQUEST, or too many descriptors */
	uint32_t nfds;			/* of the packet */
	uint32_t len;			/* bytes of `data` */
	uint32_t slow_close;		/* closing a descriptor that was passed on may take long */
	int32_t passed[RECEIVE_FDS];	/* in order; 0: passed on; -errno: refused … */
	struct reason why;			/* … and the reason of the first refusal */
	struct logdest dest;		/* CONFIGURELOG: the kind of the first descriptor */
	uint8_t data[WIRE_MAX_REQUEST];
};

/* 1 if the next packet has descriptors, else 0; -errno: there is no packet. */
int receive_peek(int fd);
/* Receives a packet without descriptors.  1; 0: there is none yet; -errno: the end. */
int receive_plain(int fd, struct received *in);

/* In a helper: fds[0] is the connection.  The answer is one part, a struct received. */
int receive_job(struct helper_call *call);

#endif

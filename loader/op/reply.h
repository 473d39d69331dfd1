/* SPDX-License-Identifier: BSD-2-Clause */
/* A reply under construction: header, payload and reason in one buffer, and its descriptors. */
#ifndef PMCBPF_REPLY_H
#define PMCBPF_REPLY_H

#include <stdbool.h>
#include <stddef.h>

#include "loader/base/base.h"

struct reply {
	uint8_t *data;			/* WIRE_MAX_REPLY bytes */
	size_t len;			/* of the finished reply */
	uint32_t payload;		/* bytes so far */
	int fds[WIRE_MAX_FDS];		/* borrowed, but for own_fd */
	unsigned int nfds;
	int own_fd;			/* the one that reply_end() closes; -1: none */
	struct reason why;
	bool close;			/* the connection ends with this reply */
	bool later;			/* there is no reply yet: see op_resume() */
};

void reply_begin(struct reply *r);

/* Zeroed room at the end of the payload; NULL if the reply is full. */
void *reply_room(struct reply *r, size_t len);

/* Completes the reply; an error drops payload and descriptors and appends r->why. */
void reply_finish(struct reply *r, uint16_t op, uint32_t seq, int err);

/* After the reply has been sent or given up. */
void reply_end(struct reply *r);

#endif

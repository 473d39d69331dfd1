/* SPDX-License-Identifier: BSD-2-Clause */
/* From one message to one reply, without a socket: framing, order, operations. */
#ifndef PMCBPF_OPS_H
#define PMCBPF_OPS_H

#include <stddef.h>

#include "daemon.h"
#include "pmc.h"

/* What operations know of a connection. */
struct session {
	struct owner *owner;
	bool hello;			/* said */
	bool pages;			/* sent */
};

struct message {
	const uint8_t *data;
	size_t len;
	const int *fds;			/* stay the caller's */
	unsigned int nfds;
	bool truncated; /* it was longer than WIRE_MAX_REQUEST, or had more descriptors */
	pid_t pid;			/* of the sender, as the kernel says; 0: it does not */
	uid_t uid;
};

struct reply {
	uint8_t *data;			/* WIRE_MAX_REPLY bytes: header, payload, reason */
	size_t len;			/* of all of it */
	uint32_t payload;		/* bytes so far */
	int fds[WIRE_MAX_FDS];		/* borrowed */
	unsigned int nfds;
	struct why why;
	bool close;			/* the connection is of no use any more */
};

void message_handle(struct daemon *d, struct session *s, const struct message *m, struct reply *r);

/* Makes a reply out of the error and r->why alone. */
void reply_refuse(struct reply *r, uint16_t op, uint32_t seq, int err);

/* --- between ops.c and the operations --------------------------------------------------- */

struct request {
	struct daemon *d;
	struct session *s;
	const void *arg;		/* the operation's request struct, complete */
	int fd;				/* that came along; -1: none */
	const struct message *m;
	struct reply *r;
};

/* Zeroed room at the end of the payload; NULL if the reply is full. */
void *reply_room(struct reply *r, size_t len);

/* The sender's credentials now: -EPERM if it is not the owner any more. */
int request_cred(const struct request *rq, struct cred *cred);

/* "held by pid 17 (cc1)", as far as the caller may know. */
void describe_holder(const struct request *rq, const struct pmc *p, char *buf, size_t size);

int op_hello(struct request *rq);
int op_getcpuinfo(struct request *rq);
int op_getdriverstats(struct request *rq);
int op_getmoduleversion(struct request *rq);
int op_getdyneventinfo(struct request *rq);
int op_getpmcinfo(struct request *rq);
int op_pmcadmin(struct request *rq);
int op_pmcadmin_allowed(struct request *rq);
int op_pmcallocate(struct request *rq);
int op_pmcrelease(struct request *rq);
int op_pmcattach(struct request *rq);
int op_pmcdetach(struct request *rq);
int op_pmcstart(struct request *rq);
int op_pmcstop(struct request *rq);
int op_pmcrw(struct request *rq);
int op_pmcsetcount(struct request *rq);

#endif

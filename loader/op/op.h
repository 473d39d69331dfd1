/* SPDX-License-Identifier: BSD-2-Clause */
/* From one message to one reply, without a socket: framing, order, operations. */
#ifndef PMCBPF_OPS_H
#define PMCBPF_OPS_H

#include <stddef.h>

#include "loader/daemon/daemon.h"
#include "loader/log/logdest.h"
#include "loader/pmc/pmc.h"

/* A request about trace rings that waits for their thread. */
struct session_ktr {
	uint32_t what;			/* enum wire_ktr_what */
	bool whole, done;
	char text[32];
};

/* What operations know of a connection. */
struct session {
	struct owner *owner;
	struct cred cred;		/* the process's when it connected */
	bool hello;			/* said */
	bool pages;			/* sent */
	/* The operation that is to be answered when something has happened; op.resume says what. */
	struct {
		bool waits;
		uint16_t op;
		uint32_t seq;
		uint64_t ticket;	/* the operation's own */
		struct session_ktr ktr;
		enum tunable tunable;
	} later;
};

struct message {
	const uint8_t *data;
	size_t len;
	const int *fds;			/* stay the caller's; -1: it was not passed on … */
	const int32_t *passed;		/* … but refused, with this -errno … */
	const struct why *refusal;	/* … and reason; NULL: all were passed on */
	const struct logdest *dest;	/* CONFIGURELOG: what the first one is */
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
	int own_fd;			/* one of them that nobody else keeps; see reply_end() */
	struct why why;
	bool close;			/* the connection is of no use any more */
	bool later;			/* there is none yet: see message_resume() */
};

#define OP_LATER 1			/* an operation's result instead of 0 or -errno */

/* "PMCATTACH"; "?" of a number that is no operation. */
const char *op_name(unsigned int op);

void message_handle(struct daemon *d, struct session *s, const struct message *m, struct reply *r);

/* Tries again to finish what session.later says; false: it has to wait on. */
bool message_resume(struct daemon *d, struct session *s, struct reply *r);

/* After a reply was sent, or cannot be. */
void reply_end(struct reply *r);

/* Makes a reply out of the error and r->why alone. */
void reply_refuse(struct reply *r, uint16_t op, uint32_t seq, int err);

/* --- between ops.c and the operations --------------------------------------------------- */

struct request {
	struct daemon *d;
	struct session *s;
	const void *arg;		/* the operation's request struct, complete */
	int fd;				/* that came along; -1: none */
	int proof;			/* the second one, that it may debug a process; -1: none */
	const struct message *m;
	struct reply *r;
};

/* Zeroed room at the end of the payload; NULL if the reply is full. */
void *reply_room(struct reply *r, size_t len);

/* A descriptor came along and was not passed on: -errno and why; 0: none came. */
int request_fd_refused(const struct request *rq);

/*
 * The sender's credentials now: -EPERM if it is not the owner any more, or has more rights than
 * when it connected, so that a right holds only if it was there then and is there now.
 */
int request_cred(const struct request *rq, struct cred *cred);
/* The same, with the refusal in `why`. */
int request_cred_now(const struct request *rq, struct cred *cred, struct why *why);

/* -EPERM, with what takes the privilege ("changing tunables"), unless the sender has it now. */
int request_privileged(const struct request *rq, const char *what);

/* "held by pid 17 (cc1)", as far as the caller may know. */
void describe_holder(const struct request *rq, const struct pmc *p, char *buf, size_t size);

/* A process's pid in the numbers of the asking one; -1 where it has none there. */
pid_t pid_as_seen(const struct request *rq, const struct cred *cred);

/*
 * If the client may; descendants are only attached as far as it may, too.  `waits`: counted from
 * their next exec on.
 */
int attach_process(struct request *rq, struct pmc *p, int pidfd, const struct cred *target,
		   pid_t named, bool waits);

int op_hello(struct request *rq);
int op_signals(struct request *rq);
int op_gates(struct request *rq);
int op_getcpuinfo(struct request *rq);
int op_getdriverstats(struct request *rq);
int op_getlosses(struct request *rq);
int op_getmoduleversion(struct request *rq);
int op_getdyneventinfo(struct request *rq);
int op_getpmcinfo(struct request *rq);
int op_pmcadmin(struct request *rq);
int op_pmcadmin_allowed(struct request *rq);
int op_pmcallocate(struct request *rq);
int op_pmcrelease(struct request *rq);
int op_pmcattach(struct request *rq);
int op_attachexec(struct request *rq);
int op_pmcdetach(struct request *rq);
int op_pmcstart(struct request *rq);
int op_pmcstop(struct request *rq);
int op_pmcrw(struct request *rq);
int op_pmcgetmsr(struct request *rq);
int op_pmcsetcount(struct request *rq);
int op_configurelog(struct request *rq);
int op_configurelog_later(struct request *rq);
int op_flushlog(struct request *rq);
int op_flushlog_later(struct request *rq);
int op_closelog(struct request *rq);
int op_writelog(struct request *rq);
int op_tunable(struct request *rq);
int op_tunable_later(struct request *rq);
int op_ktr(struct request *rq);
int op_ktr_later(struct request *rq);
int op_kgmon(struct request *rq);

#endif

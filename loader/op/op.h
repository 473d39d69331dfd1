/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of hwpmc, from one packet to one reply; no socket is touched here.
 *
 * server/ calls op_handle() with each packet that it has received.  op.c checks the frame, the
 * sender and the order, finds the operation in its table, and calls the operation's function:
 *
 *	alloc.c		PMCALLOCATE
 *	attach.c	PMCATTACH, ATTACHEXEC, ATTACHTHREAD, ATTACHCGROUP, PMCDETACH
 *	start.c		PMCSTART, PMCSTOP
 *	group.c		COMMITGROUP, READGROUP
 *	rw.c		PMCRW, PMCSETCOUNT, PMCGETMSR
 *	release.c	PMCRELEASE
 *	log.c		CONFIGURELOG, FLUSHLOG, CLOSELOG, WRITELOG
 *	info.c		HELLO, SIGNALS and the operations that only report
 *	admin.c, gates.c, kgmon.c, ktr.c, policy.c, tunable.c	one operation each
 *
 * Below them are request.c (the sender's rights and the descriptors of the packet), reply.c (room
 * for the answer), permit.c (may the sender attach to a process?), refusal.c (reasons that concern
 * rows) and doctor.c (the files behind GATES).
 *
 * Threads: the event loop's only.  Each request runs in a fiber, so an operation must look up other
 * owners' objects again after each call that may give up the CPU: an errand, fiber_breathe(),
 * owner_wait_ended().  Its own owner's objects stay, because an owner has one request at work at a
 * time.
 *
 * Results: 0; -errno with the reason in reply.why; or OP_LATER.  An operation that returns OP_LATER
 * has stored its condition in session.later.  op_resume() calls it again after each event that may
 * have met that, until it returns another result.  Example: FLUSHLOG stores the number of the last
 * buffer and returns OP_LATER; when the log's writer has written buffers, the server calls
 * op_resume(), and op_flushlog_later() compares that number with the last written.
 */
#ifndef PMCBPF_OP_H
#define PMCBPF_OP_H

#include <stddef.h>

#include "loader/daemon/daemon.h"
#include "loader/log/log.h"
#include "loader/pmc/pmc.h"
#include "reply.h"

/* A KTR request that waits for the thread of the trace rings. */
struct session_ktr {
	uint32_t what;			/* enum wire_ktr_what */
	bool whole, done;
	char text[32];
};

/* The state of a connection, for operations. */
struct session {
	struct owner *owner;
	struct cred cred;		/* of the process when it connected */
	bool hello;			/* HELLO has been received */
	bool pages;			/* the owner's pages have been sent */
	/* The operation that is to be answered later. */
	struct {
		bool waits;
		uint16_t op;
		uint32_t seq;
		uint64_t ticket;	/* defined by the operation */
		struct session_ktr ktr;
		enum tunable tunable;
	} later;
};

/* One message of a connection, as it was received. */
struct packet {
	const uint8_t *data;
	size_t len;
	const int *fds;			/* the caller's; -1: this one was not passed on … */
	const int32_t *passed;		/* … but refused, with this -errno … */
	const struct reason *refusal;	/* … and reason; NULL: all were passed on */
	const struct logdest *dest;	/* CONFIGURELOG: the kind of the first descriptor */
	unsigned int nfds;
	bool truncated;			/* longer than WIRE_MAX_REQUEST, or too many descriptors */
	pid_t pid;			/* of the sender, by the kernel; 0: unknown */
	uid_t uid;
};

#define OP_LATER 1			/* a result instead of 0 or -errno */

/* "PMCATTACH"; "?" for a number without an operation. */
const char *op_name(unsigned int op);

void op_handle(struct daemon *d, struct session *s, const struct packet *m, struct reply *r);

/* Tries again to finish the operation in session.later; false: it still has to wait. */
bool op_resume(struct daemon *d, struct session *s, struct reply *r);

/* --- the operations, for the table in op.c ------------------------------------------------- */

struct request;

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
int op_attachthread(struct request *rq);
int op_attachcgroup(struct request *rq);
int op_pmcdetach(struct request *rq);
int op_pmcstart(struct request *rq);
int op_pmcstop(struct request *rq);
int op_pmcrw(struct request *rq);
int op_commitgroup(struct request *rq);
int op_readgroup(struct request *rq);
int op_pmcgetmsr(struct request *rq);
int op_pmcsetcount(struct request *rq);
int op_overflows(struct request *rq);
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
int op_policy(struct request *rq);

#endif

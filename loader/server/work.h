/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whose turn it is: requests at work, each in a fiber.
 *
 * A connection that can be read has one piece of work, the request to be received there.  Work that
 * is ready stands in its user's queue, and users take turns: in each turn of the event loop every
 * user has one slice of at most a millisecond.  So a request waits for one slice of each other
 * user, however many connections those have and whatever they ask for.
 *
 * An owner has one piece of work under way at a time (owner->busy): requests of its other
 * connections wait, and the owner ends (its log, then its PMCs) in a piece of work of its own,
 * after the one under way.  This is what operations rely on across fiber_breathe() and errands.
 *
 * What the log could not have of a target that was in an exec is looked up in a piece of work, too.
 */
#ifndef PMCBPF_WORK_H
#define PMCBPF_WORK_H

#include "loop.h"
#include "receive.h"

struct work {
	TAILQ_ENTRY(work) in_queue;	/* its user's, while `queued` */
	TAILQ_ENTRY(work) in_all;	/* that have begun */
	struct server *s;
	struct client *client;		/* NULL: its owner ends, or … */
	bool late;			/* … its logs lack targets */
	struct owner *owner;
	struct user *user;
	struct fiber *fiber;		/* NULL: it has not begun */
	bool queued;
	bool suspended;			/* it has waited, and its connection is not read */
	bool carries;			/* the message has descriptors: a helper receives it */
	struct received in;
	int fds[RECEIVE_FDS];
	struct reply reply;
};

/* A connection can be read. */
void work_offer(struct server *s, struct client *c);
/*
 * The connection's work, if there is any, is over; false if it has begun, and ends the connection.
 */
bool work_withdraw(struct server *s, struct client *c);
/* The last connection of an owner has closed: everything it holds is given back. */
void work_end_owner(struct server *s, struct owner *o);
/* After each trace_drain(): owners whose logs lack targets get a piece of work for that. */
void works_late(struct server *s);

bool works_ready(const struct server *s);
/* One slice for each user. */
void works_run(struct server *s);
/* All that has begun is brought to its end, at once. */
void works_finish(struct server *s);
void works_free(struct server *s);

#endif

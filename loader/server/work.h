/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work: requests, each in a fiber, and the turns of users.
 *
 * A readable connection has one piece of work: the request that is to be received there.  Work that
 * is ready waits in its user's queue.  In each turn of the event loop every user gets one slice of
 * at most a millisecond.  So a request waits for at most one slice of each other user, however many
 * connections those have and whatever they request.
 *
 * States: queued; running its slice; suspended (its slice is over, so that it is queued again, or
 * it waits for an errand or an event, until fiber_wake() queues it); finished.  Until its first
 * slice a piece of work has no fiber, has received nothing, and can be withdrawn.
 *
 * An owner has one piece of work under way at a time (owner->busy).  Requests of its other
 * connections wait, and the owner's end (its log, then its PMCs) is a piece of work of its own,
 * after the one under way.  Operations rely on this across fiber_breathe() and errands: their
 * owner, its PMCs and its log stay.
 *
 * Logs that lack a target, because it was in an exec when it was attached, get it in a piece of
 * work, too (`late`).
 *
 * Example: user A has 100 connections with a request each, user B one.  A turn of the loop runs
 * one slice of A's first request and one of B's.  B's is answered; A's, if suspended, goes to the
 * end of A's queue.
 */
#ifndef PMCBPF_WORK_H
#define PMCBPF_WORK_H

#include "loop.h"
#include "receive.h"

struct work {
	TAILQ_ENTRY(work) in_queue;	/* its user's, while `queued` */
	TAILQ_ENTRY(work) in_all;	/* of begun or spare work */
	struct server *s;
	struct client *client;		/* NULL: its owner ends, or … */
	bool late;			/* … the owner's log lacks targets */
	struct owner *owner;
	struct user *user;
	struct fiber *fiber;		/* NULL: it has not begun */
	bool queued;
	bool suspended;			/* was suspended once: its connection is not read */
	bool carries;			/* the packet has descriptors: a helper receives it */
	struct received in;
	int fds[RECEIVE_FDS];
	struct reply reply;
};

/* The connection is readable. */
void work_offer(struct server *s, struct client *c);
/* Withdraws the connection's work.  False: it has begun, and will end the connection. */
bool work_withdraw(struct server *s, struct client *c);
/* The last connection of an owner has closed: releases all that it holds. */
void work_end_owner(struct server *s, struct owner *o);
/* After each sample_log_drain(): begins work for owners with logs that lack targets. */
void works_late(struct server *s);

bool works_ready(const struct server *s);
/* Runs one slice of each user. */
void works_run(struct server *s);
/* Finishes all work, without waiting for errands. */
void works_finish(struct server *s);
void works_free(struct server *s);

#endif

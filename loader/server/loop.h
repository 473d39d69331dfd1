/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the event loop; private to this room. */
#ifndef PMCBPF_LOOP_H
#define PMCBPF_LOOP_H

#include "client.h"

/* reload.c */
struct reload {
	struct daemon *d;
	struct fiber *fiber;		/* reads the rules; NULL: no reload is under way */
	bool ready;			/* it can go on */
	bool again;			/* another SIGHUP has come */
	struct site_rules *rules;	/* the result, unless `err` … */
	int err;			/* … with its reason */
	struct reason why;
};

struct server {
	struct daemon *d;
	int epoll;
	struct watch signals, notes, listener, cpus, logs, trace, ktr, helpers, tables, load;
	bool stop;
	bool single;			/* it serves one connection, and ends with it */
	bool paused;			/* the listener waits until a connection ends */
	unsigned int nclients, max_clients;
	struct client *clients;
	TAILQ_HEAD(, client) silent;	/* connections without HELLO, the oldest first */
	struct client *dead;		/* closed in this turn */
	TAILQ_HEAD(user_turns, user) turns;	/* users that have work */
	unsigned int nturns, nspare;
	TAILQ_HEAD(, work) works, spare;	/* begun; kept to be used again */
	struct reply reply;		/* of a request that is answered later */
	struct reload reload;
};

#endif

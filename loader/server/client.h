/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection; private to this room. */
#ifndef PMCBPF_LOADER_CLIENT_H
#define PMCBPF_LOADER_CLIENT_H

#include <sys/queue.h>

#include "loader/op/op.h"
#include "watch.h"

/* A reply that the socket has no room for yet. */
struct pending {
	uint8_t *data;			/* NULL: no reply waits */
	size_t len;
	int *fds;			/* our own copies */
	unsigned int nfds, paid;	/* paid: of POOL_EVENTS */
	bool close;			/* the connection ends with this reply */
};

struct client {
	struct watch socket;		/* first: a watch is its client */
	struct watch exit;		/* the process, a pidfd */
	struct client *next, **link;
	TAILQ_ENTRY(client) silent;	/* while there was no HELLO … */
	bool is_silent;
	uint64_t since;			/* … since this time, in ns */
	struct user *user;		/* charged for the connection */
	struct work *work;		/* its request at work; NULL: none */
	bool blocked;			/* another connection of its owner has one */
	bool closing;			/* ends with the request at work */
	struct session session;
	struct pending pending;
};

/*
 * Takes over fd, pidfd and the place that `user` has taken among the connections; after a failure
 * the connection has been refused.
 */
int client_add(struct server *s, int fd, struct user *user, const struct grant *grant,
	       const struct cred *cred, int pidfd, struct reason *why);
/* Closes the socket of a connection that was not added; the client can read the reason. */
void client_refuse(struct server *s, int fd, int err, const struct reason *why);
/* HELLO has been received. */
void client_greeted(struct server *s, struct client *c);
/*
 * Ends the connection, after the request at work.  The last connection of a process takes with it
 * all that the process holds.
 */
void client_close(struct server *s, struct client *c);
/* Sends the reply now, or keeps it until there is room. */
void client_answer(struct server *s, struct client *c, const struct reply *r);

/*
 * Ends connections without a HELLO for user.greeting seconds; returns the ms until the next one is
 * due, -1 if there is none.
 */
int clients_silent(struct server *s);
/* Answers waiting requests that can be answered by now. */
void clients_resume(struct server *s);
/* Frees closed connections. */
void clients_bury(struct server *s);

#endif

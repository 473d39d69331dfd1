/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection; private to server.c and client.c. */
#ifndef PMCBPF_LOADER_CLIENT_H
#define PMCBPF_LOADER_CLIENT_H

#include <sys/queue.h>

#include "loader/op/op.h"
#include "receive.h"

struct server;

/* Something in the epoll set.  fd is -1 from its end to the end of the round. */
struct watch {
	int fd;
	void (*ready)(struct server *s, struct watch *w, uint32_t events);
	bool end;			/* it is ready when a process has exited */
	unsigned int kind;		/* of its work, enum watchdog_kind */
};

/* A reply that the client has no room for yet; its descriptors are our own copies. */
struct pending {
	uint8_t *data;			/* NULL: nothing waits */
	size_t len;
	int *fds;
	unsigned int nfds, paid;	/* paid: of POOL_EVENTS */
	bool close;			/* the connection ends with it */
};

struct client {
	struct watch socket;		/* first: a watch is its client */
	struct watch exit;		/* the process, a pidfd */
	struct client *next, **link;
	TAILQ_ENTRY(client) silent;	/* while it has not said HELLO … */
	bool is_silent;
	uint64_t since;			/* … since then, in ns */
	struct user *user;		/* charged for the connection */
	struct work *work;		/* the request that it has at work; NULL: none */
	bool blocked;			/* another connection of its owner has one */
	bool closing;			/* ends with that request */
	struct session session;
	struct pending pending;
};

struct server {
	struct daemon *d;
	int epoll;
	struct watch signals, notes, listener, cpus, logs, trace, ktr, helpers;
	bool stop, single, paused;
	unsigned int nclients, max_clients;
	struct client *clients;
	TAILQ_HEAD(, client) silent;	/* the longest first */
	struct client *dead;		/* closed in this round */
	TAILQ_HEAD(user_turns, user) turns;	/* users that have work */
	unsigned int nturns, nspare;
	TAILQ_HEAD(, work) works, spare;	/* begun; kept to be used again */
	struct reply reply;		/* of a request that was answered later */
};

int watch_add(struct server *s, struct watch *w, uint32_t events);
void watch_change(struct server *s, struct watch *w, uint32_t events);
/* Out of the set, but open. */
void watch_remove(struct server *s, struct watch *w);
void watch_close(struct server *s, struct watch *w);
void server_client_gone(struct server *s);
/* What has happened until now counts before what is answered from now on.  May close clients. */
void server_catch_up(struct server *s);

/*
 * Takes over fd, pidfd and the place that `user` has taken among the connections; on failure the
 * connection is refused.
 */
int client_add(struct server *s, int fd, struct user *user, const struct cred *cred, int pidfd,
	       struct why *why);
/* Closes the socket of a connection that is none yet, with the reason for the client to read. */
void client_refuse(struct server *s, int fd, int err, const struct why *why);
/*
 * Ends the connections that have not said HELLO for user.greeting seconds; returns the ms until
 * the next one is due, -1 if there is none.
 */
int clients_silent(struct server *s);
/* It has said HELLO. */
void client_greeted(struct server *s, struct client *c);
/*
 * Everything the process holds goes with its last connection, once the request at work is over.
 */
void client_close(struct server *s, struct client *c);
/* Sends the reply now, or keeps it until there is room. */
void client_answer(struct server *s, struct client *c, const struct reply *r);
/* Answers whoever waits for something that has happened by now. */
void clients_resume(struct server *s);
/* Frees those that were closed. */
void clients_bury(struct server *s);

#endif

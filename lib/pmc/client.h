/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection to pmcbpfd: one request, one reply, in order, whatever thread asks. */
#ifndef PMCBPF_CLIENT_H
#define PMCBPF_CLIENT_H

#include "lib.h"

/* One request and its reply.  The caller owns `fds` after success; after failure there are none. */
struct exchange {
	uint16_t op;			/* enum wire_op */
	const void *request;
	size_t request_len;
	int send_fd;			/* goes along with the request; -1: none … */
	const int *proof;		/* … and this one after it; NULL: no second one */
	bool fds_optional;		/* the reply's descriptors only save requests: without room
					   for all of them there are none */
	void *payload;			/* the reply's payload is copied here … */
	size_t payload_min;		/* … and must have this many bytes at least … */
	size_t payload_max;		/* … and at most */
	size_t payload_len;		/* of the reply */
	int fds[WIRE_MAX_FDS];
	unsigned int nfds;
};

/*
 * Connects (to the socket, or to a private daemon), says HELLO and compares versions; does nothing
 * when already connected to a living daemon.
 */
int client_open(struct lib *l, struct reason *why);

/* -ENOSYS: the daemon has gone; -EPROTO: a malformed reply; else the daemon's own answer. */
int client_exchange(struct lib *l, struct exchange *x, struct reason *why);
/* A request with an empty reply; fd goes along, -1: none. */
int client_request(struct lib *l, uint16_t op, const void *request, size_t len, int fd,
		   struct reason *why);
/* A request whose reply has exactly `size` bytes. */
int client_query(struct lib *l, uint16_t op, const void *request, size_t len, void *reply,
		 size_t size, struct reason *why);

/*
 * A new version of the table, to be changed; NULL without memory.  Both calls are always made: the
 * first takes the lock and the second returns it.
 */
struct read_table *client_table_change(struct lib *l);
void client_table_publish(struct lib *l, struct read_table *t);
/* For a reader: see read_share_leave(). */
void client_table_reclaim(struct lib *l);

/* PMCs that have no place on the page; between client_table_change() and client_table_publish(). */
void client_unplaced_add(struct lib *l, uint32_t pmcid);
void client_unplaced_remove(struct lib *l, uint32_t pmcid);
bool client_has_unplaced(struct lib *l, uint32_t pmcid);	/* at any time */

/* Closes the descriptors that a reply brought. */
void client_exchange_close(struct exchange *x);

#endif

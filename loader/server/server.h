/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop: one thread, never blocked by a client.  Each connection has at most one reply
 * under way, and is not read from until that is gone.
 */
#ifndef PMCBPF_SERVER_H
#define PMCBPF_SERVER_H

#include "loader/daemon/daemon.h"
#include "peer.h"

#define SERVER_MAX_CLIENTS 4096u	/* connections */

struct server;

/* From now on SIGTERM, SIGINT and SIGHUP wait for server_run(); before anything is left behind. */
void server_hold_signals(void);

int server_new(struct server **out, struct daemon *d, struct why *why);
void server_free(struct server *s);

/* Accepts connections from now on; the listener stays the caller's. */
int server_listen(struct server *s, const struct listener *l, struct why *why);
/* Serves this one connection and ends with it. */
int server_adopt(struct server *s, int fd, struct why *why);

/* Until SIGTERM or SIGINT, or the end of the adopted connection. */
int server_run(struct server *s, struct why *why);

#endif

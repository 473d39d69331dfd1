/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event loop: connections, their requests, and all else that the daemon waits for.
 *
 * One thread runs all of it, and no client can block it: work that may hang is an errand of a
 * helper process, and long work is a fiber that gives up the CPU every millisecond.
 *
 *	server.c	the loop: epoll, signals, notes of the programs, CPUs, logs, trace rings
 *	watch.c		one descriptor in the epoll set
 *	endpoint.c	the listening socket and its file
 *	peer.c		the process at the other end of a connection
 *	greeting.c	the credentials of a new connection
 *	client.c	a connection from accept() to its end, and replies that have no room yet
 *	receive.c	one packet from the socket; a helper receives those with descriptors
 *	work.c		requests from their arrival to their reply, and the turns of users
 *	reload.c	SIGHUP: all that is read again
 *
 * The path of a request: epoll reports a readable connection; work_offer() queues a piece of work
 * with its user; works_run() gives each user one slice; in the first slice the packet is received
 * and a fiber begins; op_handle() (op/) makes the reply; client_answer() sends it.  A connection is
 * not read while its owner has a request at work, and has at most one unsent reply.
 *
 * Order: an owner that has exited or executed another program must be gone for every request
 * received after that.  So in each turn of the loop ends of processes come first, and
 * server_catch_up() takes in the programs' notes before a connection is accepted, before a request
 * begins, and before its reply is sent.
 */
#ifndef PMCBPF_SERVER_H
#define PMCBPF_SERVER_H

#include "endpoint.h"
#include "loader/daemon/daemon.h"
#include "peer.h"
#include "receive.h"

#define SERVER_MAX_CLIENTS 4096u	/* connections */

struct server;

/* Blocks SIGTERM, SIGINT and SIGHUP, which server_run() takes; before any thread exists. */
void server_hold_signals(void);

int server_new(struct server **out, struct daemon *d, struct reason *why);
void server_free(struct server *s);

/* Accepts connections from now on; the endpoint stays the caller's. */
int server_listen(struct server *s, const struct endpoint *e, struct reason *why);
/* Serves this one connection and ends with it. */
int server_adopt(struct server *s, int fd, struct reason *why);

/* Returns after SIGTERM or SIGINT, or at the end of the adopted connection. */
int server_run(struct server *s, struct reason *why);

/* --- for client.c and work.c ---------------------------------------------------------------- */

/* Takes in all notes of the programs, before anything that follows.  May close clients. */
void server_catch_up(struct server *s);
/* A connection has ended: there is room for another. */
void server_client_gone(struct server *s);

#endif

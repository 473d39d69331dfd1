/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket of libpctr (pctr_wire.h).  The stand-in's mode decides which users set counters. */
#ifndef PMCBPF_PCTR_SOCK_H
#define PMCBPF_PCTR_SOCK_H

#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "core.h"
#include "receive.h"
#include "watch.h"

#define SOCK_CLIENTS	      512u
#define SOCK_CLIENTS_PER_USER 64u	/* root's are not counted */
#define SOCK_HELPERS	      64u	/* processes that receive messages and close descriptors */
#define SOCK_HELPERS_KEPT     16u	/* reserved for root's messages and for closing */
#define SOCK_HELPERS_PER_USER 4u	/* messages at a time; root's are not counted */
#define SOCK_WAITING	      256u	/* waiting descriptors: with more no client is accepted */
#define SOCK_JOBS	      1u

struct sock_client;
struct sock {
	struct watch watch;		/* the listening socket; fd -1: there is none */
	int epoll;
	struct core *core;
	const struct messages *messages;
	struct helpers *helpers;
	struct watch helped;
	struct receive_file file;	/* the stand-in, which requests must show open */
	LIST_HEAD(sock_clients, sock_client) clients;
	struct sock_clients leaving;	/* gone, but their messages are at work */
	struct sock_clients dead;	/* freed after the events of a turn */
	unsigned int nclients;
	bool waits;			/* a message waits for a helper */
	bool full;			/* a refused client has been logged */
	bool paused;			/* out of descriptors: until one is closed */
	struct sockaddr_un address;
	dev_t dev;
	ino_t ino;
};

/* The helpers' jobs. */
extern helper_job *const sock_jobs[SOCK_JOBS];

/*
 * Listens at `path`, and replaces a socket without a server.  `file` is a descriptor of the
 * stand-in; the helpers stay the caller's.  -errno, with a message.
 */
int sock_open(struct sock *s, const char *path, int file, int epoll, struct helpers *helpers,
	      struct core *core, const struct messages *messages);
/* Pending messages are given up.  Call sock_bury() after helpers_free() for their clients. */
void sock_close(struct sock *s);
void sock_bury(struct sock *s);
/* To be called after the events of each turn; those that came with a descriptor -1 are over. */
void sock_settle(struct sock *s);

/* The reply to a message; -EPROTO: it was no request of libpctr's. */
int sock_answer(struct sock *s, const struct received *in, struct pctr_wire_reply *reply);

#endif

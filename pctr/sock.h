/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket of libpctr: pctr_wire.h.  What the file stands for, its mode and owner, decides. */
#ifndef PMCBPF_PCTR_SOCK_H
#define PMCBPF_PCTR_SOCK_H

#include <sys/queue.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "core.h"
#include "pctr_wire.h"
#include "watch.h"

#define SOCK_CLIENTS	      512u
#define SOCK_CLIENTS_PER_USER 64u	/* root's are not counted */

struct sock_client;
struct sock {
	struct watch watch;		/* the listening socket; fd -1: there is none */
	int epoll;
	struct core *core;
	const struct log *log;
	struct stat file;		/* the stand-in, which requests must show open */
	LIST_HEAD(, sock_client) clients;
	unsigned int nclients;
	bool full;			/* it has been said */
	bool paused;			/* out of descriptors: until a client goes */
	struct sockaddr_un address;
	dev_t dev;
	ino_t ino;
};

/*
 * Listens at `path`, in place of a socket that nobody answers on.  `file` is a descriptor of the
 * stand-in.  -errno, with a line in the log.
 */
int sock_open(struct sock *s, const char *path, int file, int epoll, struct core *core,
	      const struct log *log);
void sock_close(struct sock *s);

/*
 * The reply to a message of `len` bytes that came with descriptor `fd` (-1: none); -EPROTO: it was
 * no request of libpctr's.
 */
int sock_answer(struct sock *s, const void *message, size_t len, int fd,
		struct pctr_wire_reply *reply);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket's file, and who is at the other end of a connection. */
#ifndef PMCBPF_PEER_H
#define PMCBPF_PEER_H

#include "lib/base/lockfile.h"
#include "loader/policy/policy.h"

struct listener {
	int fd;				/* -1: none */
	struct lockfile lock;
	char path[108];			/* "": the socket is somebody else's to remove */
	dev_t dev;
	ino_t ino;
};

#define LISTENER_NONE ((struct listener){ .fd = -1, .lock = LOCKFILE_NONE })

/*
 * Makes the socket, and its directory where that is missing, and takes the lock of its path.  A
 * socket that nobody answers on is replaced; -EADDRINUSE: a daemon runs already.  `group`: the
 * group whose members may connect, "": everybody.
 */
int listener_open(struct listener *l, const char *path, const char *group, struct why *why);
/* Takes a socket that listens already; who may connect is the service manager's to say. */
int listener_adopt(struct listener *l, int fd, const char *group, struct why *why);
/* Closes, and removes the file if it is still ours. */
void listener_close(struct listener *l);
/* Gives up the lock: the daemon's last step, so that its successor meets nothing of it. */
void listener_unlock(struct listener *l);

/* Is fd a connected SOCK_SEQPACKET socket of this host? */
bool peer_is_client(int fd);

/* The process that made the connection: its number, and a pidfd of the caller's to close. */
int peer_process(int fd, pid_t *pid, int *pidfd, struct why *why);

#endif

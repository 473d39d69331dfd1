/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's address: the listening socket, its file and its lock. */
#ifndef PMCBPF_ENDPOINT_H
#define PMCBPF_ENDPOINT_H

#include "lib/base/lockfile.h"
#include "loader/base/base.h"

struct endpoint {
	int fd;				/* -1: none */
	struct lockfile lock;
	char path[108];			/* "": the service manager made the socket and removes it */
	dev_t dev;
	ino_t ino;
};

#define ENDPOINT_NONE ((struct endpoint){ .fd = -1, .lock = LOCKFILE_NONE })

/*
 * Makes the socket, and its directory if that is missing, and takes the lock of its path.  Replaces
 * a socket that no process listens on; -EADDRINUSE: a daemon runs already.  `group`: the group
 * whose members may connect; "": every user may.
 */
int endpoint_open(struct endpoint *e, const char *path, const char *group, struct reason *why);
/* Takes a socket that the service manager listens on; its unit decides which users may connect. */
int endpoint_adopt(struct endpoint *e, int fd, const char *group, struct reason *why);
/* Closes the socket, and removes the file if it is still ours. */
void endpoint_close(struct endpoint *e);
/* Releases the lock: the daemon's last step, so that its successor finds nothing left of it. */
void endpoint_unlock(struct endpoint *e);

#endif

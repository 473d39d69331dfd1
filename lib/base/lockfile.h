/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The lock of a daemon: only one daemon runs for each socket.
 *
 * The lock is a file of its own, beside the socket, which only the daemon's user can open; other
 * users could lock a folder or file that they can open.  It is a lock of fcntl(2): the kernel knows
 * which process holds it, children do not inherit it, and it ends with the process.
 */
#ifndef PMCBPF_LOCKFILE_H
#define PMCBPF_LOCKFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/un.h>

#define LOCKFILE_SUFFIX ".lock"

struct lockfile {
	int fd;			/* -1: not held */
	char path[sizeof(((struct sockaddr_un *)0)->sun_path) + sizeof(LOCKFILE_SUFFIX)];
};

#define LOCKFILE_NONE ((struct lockfile){ .fd = -1 })

/*
 * Takes the lock of `socket`, SOCKET.lock, and writes the caller's process id to it.  Waits only
 * for the end of a holder that has been killed.  -EADDRINUSE: a process holds it; other errors: the
 * file cannot be trusted or created.  On failure `why` has the reason, one line.
 */
int lockfile_take(struct lockfile *l, const char *socket, char *why, size_t size);

/*
 * Waiting for the end of a killed process: the deadline, counted from now, and one such wait.  A
 * process loses its lock before its sockets, so the new holder of the lock may still find it
 * listening.  false: that process runs on, or the deadline has passed.
 */
long lockfile_deadline(void);
bool lockfile_outlasts(pid_t pid, long deadline);

/* Removes the file and gives up the lock. */
void lockfile_release(struct lockfile *l);

#endif

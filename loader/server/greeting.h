/* SPDX-License-Identifier: BSD-2-Clause */
/* Who connects: taken down between accept() and the first message. */
#ifndef PMCBPF_GREETING_H
#define PMCBPF_GREETING_H

#include "loader/daemon/daemon.h"

/*
 * Identifies the process behind an accepted socket: its credentials, which it had at connect() as
 * well, and a pidfd of the caller's to close.  From here on an exec of it makes a note, until
 * greeting_forget().  The notes until now have been taken in.
 */
int greeting_take(struct daemon *d, int fd, struct cred *cred, int *pidfd, struct why *why);

/* A connection of the process has ended, or was refused; the last one ends the notes. */
void greeting_forget(struct daemon *d, pid_t pid);

#endif

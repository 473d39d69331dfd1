/* SPDX-License-Identifier: BSD-2-Clause */
/* Identifies the process of a new connection. */
#ifndef PMCBPF_GREETING_H
#define PMCBPF_GREETING_H

#include "loader/daemon/daemon.h"

/*
 * After accept(): the credentials of the process, which it had at connect() as well, and a pidfd
 * that the caller closes.  From here on an exec of the process makes a note, until
 * greeting_forget().  The caller has read all earlier notes.
 */
int greeting_take(struct daemon *d, int fd, struct cred *cred, int *pidfd, struct reason *why);

/* A connection of the process has ended or was refused; with the last one its notes end. */
void greeting_forget(struct daemon *d, pid_t pid);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The process at the other end of a connection. */
#ifndef PMCBPF_PEER_H
#define PMCBPF_PEER_H

#include "loader/base/base.h"

/* Is fd a Unix socket of type SOCK_SEQPACKET, and a listening (1) or connected (0) one? */
bool peer_is_seqpacket(int fd, int listening);

/* Has the kernel send credentials with each packet received from fd, or from what it accepts. */
int peer_pass_credentials(int fd);

/* The process that made the connection: its number, and a pidfd that the caller closes. */
int peer_process(int fd, pid_t *pid, int *pidfd, struct reason *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The process at the other end of a connection. */
#ifndef PMCBPF_PEER_H
#define PMCBPF_PEER_H

#include "loader/base/base.h"

/* True if fd is a Unix socket of type SOCK_SEQPACKET, listening (1) or connected (0). */
bool peer_is_seqpacket(int fd, int listening);

/* Makes the kernel send credentials with packets from fd, or from connections accepted there. */
int peer_pass_credentials(int fd);

/* The process that made the connection: its number, and a pidfd that the caller closes. */
int peer_process(int fd, pid_t *pid, int *pidfd, struct reason *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of SOCK_SEQPACKET sockets, and the descriptors that they carry. */
#ifndef PMCBPF_BASE_MESSAGE_H
#define PMCBPF_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#define MESSAGE_MAX_FDS 253u		/* the kernel's limit for a message */

/* A head and the data behind it; flags as of sendmsg(2). 0 or -errno. */
int message_send(int socket, const void *head, size_t head_len, const void *data, size_t len,
		 const int *fds, unsigned int nfds, int flags);
/*
 * Bytes, 0 at the end, or -errno; descriptors are close-on-exec.  `fds` has room for
 * MESSAGE_MAX_FDS.
 */
long message_receive(int socket, void *head, size_t head_len, void *data, size_t size, int *fds,
		     unsigned int *nfds, int flags);

/*
 * Does the next message carry descriptors?  1, 0 (also at the end), or -errno: there is none.  The
 * message stays unread.  `creds`: the socket has SO_PASSCRED.
 */
int message_carries(int socket, bool creds);
/* Does a socket that was shut down hold unread messages? */
bool message_unread(int socket);

#endif

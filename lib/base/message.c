/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "message.h"

union message_control {
	struct cmsghdr align;
	char room[CMSG_SPACE(MESSAGE_MAX_FDS * sizeof(int))];
};

int message_send(int socket, const void *head, size_t head_len, const void *data, size_t len,
		 const int *fds, unsigned int nfds, int flags)
{
	struct iovec v[2] = {
		{ .iov_base = (void *)head, .iov_len = head_len },
		{ .iov_base = (void *)data, .iov_len = len },
	};
	struct msghdr msg = { .msg_iov = v, .msg_iovlen = 2 };
	union message_control control;

	if (nfds) {
		struct cmsghdr *c;

		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	while (sendmsg(socket, &msg, flags | MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

long message_receive(int socket, void *head, size_t head_len, void *data, size_t size, int *fds,
		     unsigned int *nfds, int flags)
{
	struct iovec v[2] = {
		{ .iov_base = head, .iov_len = head_len },
		{ .iov_base = data, .iov_len = size },
	};
	union message_control control;
	struct msghdr msg = {
		.msg_iov = v, .msg_iovlen = 2,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	ssize_t n;

	*nfds = 0;
	do
		n = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		*nfds = (unsigned int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(c), *nfds * sizeof(int));
	}
	return n;
}

int message_carries(int socket, bool creds)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	char byte;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	/* Room for the credentials, which come first, and for no descriptor. */
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = creds ? &control : NULL,
		.msg_controllen = creds ? sizeof(control) : 0,
	};

	if (recvmsg(socket, &msg, MSG_PEEK | MSG_DONTWAIT) < 0)
		return -errno;
	return msg.msg_flags & MSG_CTRUNC ? 1 : 0;
}

/* With credentials even an empty message has control data; the end of the stream has none. */
bool message_unread(int socket)
{
	int on = 1;

	return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	       message_carries(socket, false) != 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The spawner and the helpers: processes of one thread, with nothing of the daemon's but a socket. */
#include <errno.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "helper_impl.h"

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(HELPER_MAX_FDS * sizeof(int))];
};

int message_send(int socket, const void *head, size_t head_len, const void *data, size_t len,
		 const int *fds, unsigned int nfds, int flags)
{
	struct iovec v[2] = {
		{ .iov_base = (void *)head, .iov_len = head_len },
		{ .iov_base = (void *)data, .iov_len = len },
	};
	struct msghdr msg = { .msg_iov = v, .msg_iovlen = 2 };
	union control control;

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
	union control control;
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

int helper_emit(const struct helper_call *call, const void *data, size_t len, const int *fds,
		unsigned int nfds)
{
	const struct helper_answer head = { .end = 0 };

	return message_send(call->socket, &head, sizeof(head), data, len, fds, nfds, 0);
}

/* Everything of a call is given back before its end is reported. */
static void helper_serve(int socket, helper_job *const *jobs, unsigned int njobs)
{
	uint8_t arg[HELPER_MAX_ARG] __attribute__((aligned(8)));
	int fds[HELPER_MAX_FDS];
	struct helper_answer end = { .end = 1 };
	struct helper_order order;
	struct helper_call call = { .arg = arg, .fds = fds, .socket = socket };
	long n = message_receive(socket, &order, sizeof(order), arg, sizeof(arg), fds, &call.nfds,
				 0);

	if (n < (long)sizeof(order))
		_exit(0);
	call.len = (size_t)n - sizeof(order);
	if (order.job < njobs)
		end.result = jobs[order.job](&call);
	for (unsigned int i = 0; i < call.nfds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	if (message_send(socket, &end, sizeof(end), NULL, 0, NULL, 0, 0))
		_exit(0);
}

/*
 * The daemon's signals are not a helper's: it ends when the daemon's end of its socket closes, also
 * where a service manager signals the whole group.
 */
static void take_no_signals(void)
{
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE };
	sigset_t none;

	for (unsigned int i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A fork that returns a descriptor of the child; there are no threads that it could surprise. */
static long fork_pidfd(int *pidfd)
{
	return syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, pidfd, 0, 0);
}

_Noreturn void spawner_run(int socket, const char *name, helper_job *const *jobs,
			   unsigned int njobs)
{
	int fds[HELPER_MAX_FDS], pidfd = -1;
	unsigned int nfds;
	char byte;

	take_no_signals();
	signal(SIGCHLD, SIG_IGN);	/* nobody collects helpers */
	prctl(PR_SET_NAME, name, 0, 0, 0);
	while (message_receive(socket, &byte, 1, NULL, 0, fds, &nfds, 0) > 0) {
		int32_t err = nfds == 1 ? 0 : -EPROTO;
		long pid = err ? -1 : fork_pidfd(&pidfd);

		if (pid == 0) {
			close(socket);
			for (;;)
				helper_serve(fds[0], jobs, njobs);
		}
		if (!err && pid < 0)
			err = -errno;
		for (unsigned int i = 0; i < nfds; i++)
			close(fds[i]);
		(void)message_send(socket, &err, sizeof(err), NULL, 0, &pidfd, pid > 0, 0);
		if (pid > 0)
			close(pidfd);
	}
	_exit(0);
}

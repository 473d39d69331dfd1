/* SPDX-License-Identifier: BSD-2-Clause */
/* See peer.h. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "peer.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77			/* Linux 6.5 */
#endif

bool peer_is_seqpacket(int fd, int listening)
{
	int type = 0, domain = 0, accepts = -1;
	socklen_t len = sizeof(int);

	return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_SEQPACKET &&
	       !getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) && domain == AF_UNIX &&
	       !getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &len) && accepts == listening;
}

int peer_pass_credentials(int fd)
{
	int on = 1;

	return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ? -errno : 0;
}

/*
 * Before Linux 6.5 the pidfd is opened by number.  The number is the peer's while the connection
 * stands; later each packet's credentials are compared with those of the process.
 */
static int peer_pidfd(int fd, pid_t pid)
{
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	socklen_t len = sizeof(int);
	int pidfd = -1;

	if (!getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len))
		return pidfd;
	if (errno != ENOPROTOOPT)
		return -errno;
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	if (poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLRDHUP | POLLERR)) {
		close(pidfd);
		return -ESRCH;
	}
	return pidfd;
}

int peer_process(int fd, pid_t *pid, int *pidfd, struct reason *why)
{
	socklen_t len = sizeof(struct ucred);
	struct ucred peer;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer_pass_credentials(fd))
		return deny(why, -errno, "cannot identify the connecting process: %m");
	if (peer.pid <= 0)
		return deny(why, -EPERM,
			    "the process is outside of the daemon's pid namespace; run "
			    "pmcbpfd on the host");
	*pid = peer.pid;
	*pidfd = peer_pidfd(fd, peer.pid);
	return *pidfd < 0 ? deny(why, -ESRCH, "the connecting process has exited") : 0;
}

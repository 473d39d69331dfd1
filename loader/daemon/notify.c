/* SPDX-License-Identifier: BSD-2-Clause */
/* The two protocols of systemd, without its library: a datagram, and an inherited socket. */
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "notify.h"

#define FIRST_PASSED_FD 3

void notify_send(const char *state)
{
	const char *path = getenv("NOTIFY_SOCKET");
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (len < 2 || len >= sizeof(sun.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(sun.sun_path, path, len);
	if (path[0] == '@')
		sun.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* The daemon works also if the service manager does not listen. */
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&sun,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

int notify_listen_fd(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

	if (!pid || !n || atol(pid) != (long)getpid() || atoi(n) != 1)
		return -1;
	fcntl(FIRST_PASSED_FD, F_SETFD, FD_CLOEXEC);
	return FIRST_PASSED_FD;
}

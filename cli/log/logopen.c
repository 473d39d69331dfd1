/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a log for reading: see logopen.h. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "logopen.h"

/* "host:port", unless it looks like a path; the port is behind the last colon. */
const char *log_port(const char *name)
{
	return *name == '/' || *name == '.' ? NULL : strrchr(name, ':');
}

/*
 * Makes reads return at once when there is nothing yet, so that records of a growing log are shown
 * without delay.  O_NONBLOCK on standard input would affect other processes that share it, so its
 * pipe is opened once more.
 */
static void never_wait(const char *name, int *fd)
{
	int own = -1;

	if (strcmp(name, "-") != 0) {
		fcntl(*fd, F_SETFL, O_NONBLOCK);
		return;
	}
	own = open("/proc/self/fd/0", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (own < 0)
		return;
	close(*fd);
	*fd = own;
}

/* Waits for one writer to connect. */
static int accept_one(const struct addrinfo *a)
{
	int one = 1, conn = -1, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 1) == 0)
		conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	one = errno;
	close(fd);
	errno = one;
	return conn;
}

static int listen_on(const char *name, const char *colon, int *fd)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct addrinfo *list = NULL;
	char *host = strndup(name, (size_t)(colon - name));
	int err = host ? getaddrinfo(*host ? host : NULL, colon + 1, &hints, &list) : EAI_MEMORY;

	free(host);
	if (err)
		return fail(EX_OSERR, "ERROR: Cannot open \"%s\" for reading: %s.", name,
			    gai_strerror(err));
	*fd = accept_one(list);
	freeaddrinfo(list);
	if (*fd < 0)
		return fail(EX_OSERR, "ERROR: Cannot open \"%s\" for reading: %s.", name,
			    strerror(errno));
	never_wait(name, fd);
	return 0;
}

int log_open_input(const char *name, int *fd)
{
	const char *colon = log_port(name);
	struct stat st;

	if (strcmp(name, "-") == 0) {
		*fd = dup(STDIN_FILENO);
	} else if (colon && stat(name, &st) != 0) {
		return listen_on(name, colon, fd);
	} else {
		*fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	}
	memset(&st, 0, sizeof(st));
	if (*fd >= 0 && fstat(*fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		errno = EISDIR;
	} else if (*fd >= 0) {
		if (S_ISFIFO(st.st_mode))
			never_wait(name, fd);
		return 0;
	}
	return fail(EX_OSERR, "ERROR: Cannot open \"%s\" for reading: %s.", name, strerror(errno));
}

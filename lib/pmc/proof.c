/* SPDX-License-Identifier: BSD-2-Clause */
/* /proc files as proofs: see WIRE_OP_PMCATTACH in wire.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proof.h"

/* The number of the process in this /proc, which may be of another pid namespace. */
static pid_t proof_number(int pidfd)
{
	char path[64], text[1024];
	ssize_t n;
	const char *p;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	p = strstr(text, "\nPid:\t");
	n = p ? strtol(p + 6, NULL, 10) : 0;
	return n > 0 ? (pid_t)n : -ESRCH;
}

int proof_open(int pidfd, char *path, size_t size)
{
	pid_t pid = proof_number(pidfd);
	int fd;

	snprintf(path, size, "/proc");
	if (pid < 0)
		return pid;
	snprintf(path, size, "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* Only the process's user may open mem; CAP_SYS_PTRACE alone is enough for maps. */
	if (fd < 0 && errno == EACCES) {
		char maps[32];

		snprintf(maps, sizeof(maps), "/proc/%d/maps", pid);
		fd = open(maps, O_RDONLY | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

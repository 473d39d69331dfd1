/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "thread.h"

bool thread_alone(void)
{
	struct stat st;

	/* The directory has one entry, and so one link, per thread, besides its own two. */
	return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

pid_t thread_process(pid_t tid)
{
	char path[64], text[512];
	const char *line;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[len > 0 ? len : 0] = '\0';
	line = strstr(text, "\nTgid:\t");
	return line ? (pid_t)strtol(line + strlen("\nTgid:\t"), NULL, 10) : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* See file.h; one read(2) returns such a file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

int file_read(int dir, const char *name, char *text, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = 0;
	ssize_t n = 0;

	text[0] = '\0';
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	if (n < 0)
		err = -errno;
	close(fd);
	text[err ? 0 : n] = '\0';
	return err ? err : (int)n;
}

int file_line(const char *path, char *line, size_t size)
{
	int n = file_read(AT_FDCWD, path, line, size);

	line[strcspn(line, "\n")] = '\0';
	return n < 0 ? n : 0;
}

bool file_executable(pid_t tgid, char *path, size_t size)
{
	char link[32];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", tgid);
	n = readlink(link, path, size - 1);
	path[n > 0 ? n : 0] = '\0';
	return n > 0;
}

bool file_is_pidfd(int fd)
{
	char link[32], name[64];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof(name) - 1);
	name[n > 0 ? n : 0] = '\0';
	/* From Linux 6.9 on pidfds are files of a file system of their own. */
	return !strcmp(name, "anon_inode:[pidfd]") || !strncmp(name, "pidfd:[", 7);
}

bool file_is_image(const char *mapping)
{
	return (mapping[0] == '/' && mapping[1] != '/') || !strcmp(mapping, "[vdso]") ||
	       !strcmp(mapping, FILE_LONG_PATH);
}

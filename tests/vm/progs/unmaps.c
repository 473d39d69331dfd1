// SPDX-License-Identifier: BSD-2-Clause
/*
 * A process that maps eight pages of its own program to execute them, and unmaps them by all means:
 * pages 2 and 3 first, page 0 by memory that takes its place, page 5 by another mapping to execute,
 * then everything.  It maps and unmaps other memory as well.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void check(int failed, const char *what)
{
	if (failed) {
		perror(what);
		exit(1);
	}
}

static char *map(char *at, size_t len, int prot, int fd)
{
	int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0) | (at ? MAP_FIXED : 0);
	char *p = mmap(at, len, prot, flags, fd, 0);

	check(p == MAP_FAILED, "mmap");
	return p;
}

int main(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *p;

	check(fd < 0, "/proc/self/exe");
	p = map(NULL, 8 * page, PROT_READ | PROT_EXEC, fd);
	check(munmap(p + 2 * page, 2 * page), "munmap");
	map(p, page, PROT_READ | PROT_WRITE, -1);
	map(p + 5 * page, page, PROT_READ | PROT_EXEC, fd);
	for (int i = 0; i < 100; i++)
		check(munmap(map(NULL, page, PROT_READ, -1), page), "munmap");
	check(munmap(p, 8 * page), "munmap");
	return 0;
}

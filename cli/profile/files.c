/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening files that a log names.  The log, the folders and the files are untrusted: a link must
 * not lead out of a container's root, and opening must neither block nor have effects.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "object.h"

#define READ (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int file_open_inside(const char *root, const char *path, uint64_t resolve)
{
	struct open_how how = { .flags = READ, .resolve = resolve | RESOLVE_IN_ROOT };
	int dir = open(root && *root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int fd, err;

	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	err = fd < 0 || fstat(fd, &st) != 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	close(dir);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

int file_open(const char *root, const char *path)
{
	char *real = NULL;
	int fd;

	/* Without a root a path may be relative. */
	if (!root || !*root) {
		real = realpath(path, NULL);
		if (!real)
			return -errno;
		path = real;
	}
	fd = file_open_inside(root, path, RESOLVE_NO_MAGICLINKS);
	free(real);
	return fd;
}

int file_open_itself(const char *root, const char *path)
{
	return file_open_inside(root, path, RESOLVE_NO_SYMLINKS);
}

/*
 * libdwfl would unpack a compressed file of any size.  It also trusts that strings end: nothing is
 * mapped behind the last page, so a file that fills its last page has to end with a NUL, as valid
 * files do.
 */
bool file_is_elf(int fd)
{
	char magic[SELFMAG], last;
	struct stat st;

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0 &&
	       fstat(fd, &st) == 0 &&
	       (st.st_size % sysconf(_SC_PAGESIZE) != 0 ||
		(pread(fd, &last, 1, st.st_size - 1) == 1 && !last));
}

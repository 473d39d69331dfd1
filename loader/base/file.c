/* SPDX-License-Identifier: BSD-2-Clause */
/* See file.h; one read(2) returns such a file. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file.h"

#define BCACHEFS_MAGIC 0xca451a4el
#define JFS_MAGIC      0x3153464al
#define NTFS3_MAGIC    0x7366746el
#define ZFS_MAGIC      0x2fc12fc1l

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

bool file_system_is_local(long type)
{
	static const long local[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
		TMPFS_MAGIC, RAMFS_MAGIC, BCACHEFS_MAGIC, ZFS_MAGIC, JFS_MAGIC,
		REISERFS_SUPER_MAGIC, NILFS_SUPER_MAGIC, MSDOS_SUPER_MAGIC, EXFAT_SUPER_MAGIC,
		NTFS3_MAGIC,
	};

	for (unsigned int i = 0; i < sizeof(local) / sizeof(local[0]); i++)
		if (type == local[i])
			return true;
	return false;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Nothing that is not ours is followed, replaced or removed. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "node.h"

#define MODE_BORN 0600			/* mode of a new node in devtmpfs */

/* --- the stand-in ------------------------------------------------------------------------- */

/* A user who can write to the folder could replace the file, and so set counters. */
static int folder_open(const char *dir, const struct messages *messages)
{
	bool made = !mkdir(dir, 0755);
	struct stat st;
	int fd, err = 0;

	if (!made && errno != EEXIST)
		err = -errno;
	fd = err ? -1 : open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Whatever root's umask is, everybody may read counters. */
	if (fd < 0 || (made && fchmod(fd, 0755)) || fstat(fd, &st)) {
		err = err ? err : -errno;
		messages_put(messages, LOG_ERR, "%s: %s; choose another folder with -d", dir,
			     strerror(-err));
	} else if (st.st_uid != geteuid() || st.st_mode & (S_IWGRP | S_IWOTH)) {
		err = -EPERM;
		messages_put(messages, LOG_ERR,
			     "%s: others may write there; chown root and chmod go-w it, "
			     "or choose another folder with -d", dir);
	}
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	return err;
}

int node_folder(const char *dir, const struct messages *messages)
{
	int fd = folder_open(dir, messages);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

int node_stand_in(const char *dir, const char *file, const struct messages *messages)
{
	int folder = folder_open(dir, messages), fd, err = 0;
	struct stat st;

	if (folder < 0)
		return folder;
	fd = openat(folder, file, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && fchmod(fd, 0644))
		err = -errno;
	if (fd < 0 && errno == EEXIST)
		fd = openat(folder, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		err = -errno;
	else if (!err && (fstat(fd, &st) || !S_ISREG(st.st_mode)))
		err = -EEXIST;
	close(folder);
	if (!err)
		return fd;
	if (err == -EEXIST || err == -ELOOP)
		messages_put(messages, LOG_ERR,
			     "%s/%s is in the way: it is no plain file; remove it, or "
			     "choose another folder with -d", dir, file);
	else
		messages_put(messages, LOG_ERR,
			     "cannot make %s/%s: %s; choose another folder with -d", dir,
			     file, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

/* --- the node ------------------------------------------------------------------------------- */

int node_clear(const char *node, const char *target)
{
	char to[PATH_MAX];
	ssize_t n = readlink(node, to, sizeof(to));

	if (n < 0)
		return errno == ENOENT ? 0 : -EEXIST;
	if ((size_t)n != strlen(target) || memcmp(to, target, (size_t)n))
		return -EEXIST;
	return unlink(node) ? -errno : 0;
}

int node_link(const char *node, const char *target)
{
	int err = node_clear(node, target);

	if (!err && symlink(target, node))
		err = -errno;
	return err;
}

/* Mode and group that udev has set stay. */
int node_open_up(const char *name)
{
	char path[128], text[32];
	unsigned int major, minor;
	struct stat st;
	FILE *f;
	int n = 0;

	snprintf(path, sizeof(path), "/sys/class/cuse/%s/dev", name);
	f = fopen(path, "re");
	if (f && fgets(text, sizeof(text), f))
		n = sscanf(text, "%u:%u", &major, &minor);
	if (f)
		fclose(f);
	if (n != 2)
		return -ENODEV;
	snprintf(path, sizeof(path), "/dev/%s", name);
	if (lstat(path, &st))
		return -errno;
	if (!S_ISCHR(st.st_mode) || st.st_rdev != makedev(major, minor))
		return -EEXIST;
	return (st.st_mode & 07777) == MODE_BORN && chmod(path, 0644) ? -errno : 0;
}

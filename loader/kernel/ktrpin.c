/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names in the BPF file system, where no name may have a dot.  Two locks on their folder protect
 * them, and end with the process however it dies: the lock of the whole folder belongs to the usual
 * name, and the lock of the byte at offset pid says that the name with this pid is in use.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ktrpin.h"
#include "lib/base/number.h"

#define BPFFS	    "/sys/fs/bpf"
#define BPFFS_MAGIC 0xcafe4a11
#define DIR_NAME    BPFFS "/pmcbpf"

static struct flock byte_of(pid_t pid, short type)
{
	return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = pid, .l_len = 1 };
}

/* True if no process holds the lock of this pid, even if the number is in use again. */
static bool is_left(int dir, pid_t pid)
{
	struct flock lock = byte_of(pid, F_WRLCK);

	return !fcntl(dir, F_OFD_GETLK, &lock) && lock.l_type == F_UNLCK;
}

/* Removes rings that killed daemons left under their pids. */
static void sweep(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		uint64_t pid;

		if (!strncmp(e->d_name, "ktr-", 4) &&
		    !number_parse(e->d_name + 4, 10, INT32_MAX, &pid) && pid > 0 &&
		    is_left(dir, (pid_t)pid))
			unlinkat(dir, e->d_name, 0);
	}
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

/* Any user may create names in a BPF file system: a folder or link there may be a stranger's. */
static int open_dir(struct reason *why)
{
	struct stat st;
	int fd;

	if (mkdir(DIR_NAME, 0700) && errno != EEXIST)
		return deny(why, -errno, "cannot make " DIR_NAME ": %m");
	fd = open(DIR_NAME, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return deny(why, -errno, "cannot open the folder " DIR_NAME ": %m; remove what is "
			    "there");
	if (!fstat(fd, &st) && st.st_uid == geteuid() && !fchmod(fd, 0700))
		return fd;
	close(fd);
	return deny(why, -EPERM, DIR_NAME " is not pmcbpfd's own: trace rings are reached through "
		    "the daemon only; remove it");
}

int ktrpin_place(struct ktrpin *p, struct reason *why)
{
	struct flock mine = byte_of(getpid(), F_RDLCK);
	struct statfs fs;

	if (statfs(BPFFS, &fs) || (uint32_t)fs.f_type != BPFFS_MAGIC)
		return deny(why, -ENODEV, "no BPF file system at " BPFFS ": trace rings end with "
			    "the daemon; mount -t bpf bpf " BPFFS " keeps them");
	p->dir = open_dir(why);
	if (p->dir < 0)
		return p->dir;
	if (fcntl(p->dir, F_OFD_SETLK, &mine))
		return deny(why, -errno, "cannot lock " DIR_NAME ": %m; trace rings end with the "
			    "daemon");
	if (flock(p->dir, LOCK_EX | LOCK_NB))
		snprintf(p->path, sizeof(p->path), DIR_NAME "/ktr-%d", getpid());
	else
		snprintf(p->path, sizeof(p->path), DIR_NAME "/ktr");
	sweep(p->dir);
	unlink(p->path);
	return 0;
}

void ktrpin_free(struct ktrpin *p)
{
	if (p->dir < 0)
		return;
	unlink(p->path);
	close(p->dir);
	*p = KTRPIN_NONE;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lockfile.h"

#define PATIENCE 10000		/* ms, for the end of a holder that was killed */
#define GLANCE	 1		/* ms, between tries */

struct lock_reason {
	char *text;
	size_t size;
};

static int lock_reject(const struct lock_reason *r, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int lock_reject(const struct lock_reason *r, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->text, r->size, fmt, ap);
	va_end(ap);
	return err;
}

/* --- the holder ------------------------------------------------------------------------------ */

static long lockfile_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Has it been sent SIGKILL, or has it ended?  The signal is pending until the process is gone. */
static bool holder_is_ending(pid_t pid)
{
	unsigned long long pending = 0;
	char path[32], line[128], state = 'X';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "State:\t", 7))
			state = line[7];
		else if (!strncmp(line, "ShdPnd:\t", 8))
			pending = strtoull(line + 8, NULL, 16);
	}
	if (f)
		fclose(f);
	return state == 'Z' || state == 'X' || pending & 1ull << (SIGKILL - 1);
}

/* Waits for the end of a holder that was killed.  false: it runs on, or does not end in time. */
static bool holder_ends_in_time(pid_t pid, long deadline)
{
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	bool gone = p.fd < 0 && errno == ESRCH, ending = gone || holder_is_ending(pid);
	long left = deadline - lockfile_now();

	if (p.fd >= 0 && ending && left > 0)
		poll(&p, 1, (int)left);
	if (p.fd >= 0)
		close(p.fd);
	/* A child that shares its descriptors may end a moment later: the lock is tried again. */
	return ending && lockfile_now() < deadline;
}

long lockfile_deadline(void)
{
	return lockfile_now() + PATIENCE;
}

bool lockfile_outlasts(pid_t pid, long deadline)
{
	if (!holder_ends_in_time(pid, deadline))
		return false;
	poll(NULL, 0, GLANCE);
	return true;
}

/* 0: try again. */
static int holder_ask(const struct lockfile *l, long deadline, const struct lock_reason *r)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(l->fd, F_GETLK, &lock))
		return lock_reject(r, -errno, "cannot lock %s: %s", l->path, strerror(errno));
	if (lock.l_type == F_UNLCK)
		return 0;
	if (lock.l_pid <= 0)
		return lock_reject(r, -EADDRINUSE,
				   "already running: a process of another pid namespace "
				   "holds %s",
				   l->path);
	if (holder_ends_in_time(lock.l_pid, deadline))
		return 0;
	return lock_reject(
		r, -EADDRINUSE, "already running: process %d holds %s%s", (int)lock.l_pid, l->path,
		holder_is_ending(lock.l_pid) ? "; it was killed, but has not ended" : "");
}

/* --- the file -------------------------------------------------------------------------------- */

/*
 * 1: it is open; 0: it was removed meanwhile.  Links are not followed, and O_CREAT comes with
 * O_EXCL only: fs.protected_regular refuses it for existing files of other users.
 */
static int lockfile_open(struct lockfile *l, const struct lock_reason *r)
{
	int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

	l->fd = open(l->path, flags | O_CREAT | O_EXCL, 0600);
	if (l->fd < 0 && errno == EEXIST) {
		l->fd = open(l->path, flags);
		if (l->fd < 0 && errno == ENOENT)
			return 0;
	}
	if (l->fd >= 0)
		return 1;
	if (errno == ELOOP || errno == EISDIR || errno == ENXIO)
		return lock_reject(r, -EEXIST, "%s is in the way: it is no plain file; remove it",
				   l->path);
	return lock_reject(r, -errno, "cannot open %s: %s", l->path, strerror(errno));
}

/* Only the daemon's user must be able to open it, and writing to it must change nothing else. */
static int lockfile_check(const struct lockfile *l, const struct stat *st,
			  const struct lock_reason *r)
{
	if (!S_ISREG(st->st_mode))
		return lock_reject(r, -EEXIST, "%s is in the way: it is no plain file; remove it",
				   l->path);
	if (st->st_uid != geteuid())
		return lock_reject(r, -EPERM,
				   "%s is in the way: it belongs to user %u; remove it, or "
				   "use a folder where others cannot write",
				   l->path, st->st_uid);
	if (st->st_mode & 077)
		return lock_reject(r, -EPERM,
				   "%s is in the way: with mode %03o others can lock it; "
				   "remove it",
				   l->path, st->st_mode & 0777);
	if (st->st_nlink > 1)
		return lock_reject(r, -EPERM,
				   "%s is in the way: the file has another name; remove it",
				   l->path);
	return 0;
}

static bool lockfile_is_named(const char *path, const struct stat *st)
{
	struct stat now;

	return !lstat(path, &now) && now.st_dev == st->st_dev && now.st_ino == st->st_ino;
}

static void lockfile_close(struct lockfile *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}

/* 1: taken; 0: the file or its holder changed meanwhile. */
static int lockfile_try(struct lockfile *l, long deadline, const struct lock_reason *r)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct stat st;
	int err;

	err = lockfile_open(l, r);
	if (err <= 0)
		return err;
	if (fstat(l->fd, &st))
		return lock_reject(r, -errno, "cannot look at %s: %s", l->path, strerror(errno));
	err = st.st_nlink ? lockfile_check(l, &st, r) : 0;
	if (err || !st.st_nlink)
		return err;
	if (!fcntl(l->fd, F_SETLK, &lock))
		return lockfile_is_named(l->path, &st);
	if (errno != EAGAIN && errno != EACCES)
		return lock_reject(r, -errno, "cannot lock %s: %s", l->path, strerror(errno));
	return holder_ask(l, deadline, r);
}

/* While the lock is held, so that no other daemon's file is removed. */
void lockfile_release(struct lockfile *l)
{
	struct stat st;

	if (l->fd >= 0 && !fstat(l->fd, &st) && lockfile_is_named(l->path, &st))
		unlink(l->path);
	lockfile_close(l);
}

int lockfile_take(struct lockfile *l, const char *socket, char *why, size_t size)
{
	const struct lock_reason r = { why, size };
	long deadline = lockfile_deadline();
	int taken;

	*l = LOCKFILE_NONE;
	if ((size_t)snprintf(l->path, sizeof(l->path), "%s" LOCKFILE_SUFFIX, socket) >=
	    sizeof(l->path))
		return lock_reject(&r, -ENAMETOOLONG, "%s: the path is too long", socket);
	while (!(taken = lockfile_try(l, deadline, &r)) && lockfile_now() < deadline) {
		lockfile_close(l);
		poll(NULL, 0, GLANCE);
	}
	if (taken == 0)
		taken = lock_reject(&r, -EAGAIN, "%s is replaced again and again", l->path);
	if (taken < 0) {
		lockfile_close(l);
		return taken;
	}
	if (!ftruncate(l->fd, 0) && dprintf(l->fd, "%d\n", getpid()) > 0)
		return 0;
	taken = lock_reject(&r, -errno, "cannot write to %s: %s", l->path, strerror(errno));
	lockfile_release(l);
	return taken;
}

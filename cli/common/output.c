/* SPDX-License-Identifier: BSD-2-Clause */
/* Making output files safely: see output.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "output.h"

#define LINKS_MAX 40

static int output_reject(struct output *o, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int output_reject(struct output *o, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(o->why, sizeof(o->why), fmt, ap);
	va_end(ap);
	return err;
}

static int output_reject_errno(struct output *o)
{
	int err = -errno;

	return output_reject(o, err, "%s", strerror(-err));
}

/* --- the way to the folder ------------------------------------------------------------------- */

static bool uid_is_ours(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* A link count above 1: another user may have placed the link here by link(2). */
static bool link_may_follow(const struct stat *folder, const struct stat *link)
{
	return (uid_is_ours(link->st_uid) && link->st_nlink == 1) ||
	       (uid_is_ours(folder->st_uid) && !(folder->st_mode & (S_IWGRP | S_IWOTH)));
}

static bool fd_in_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

struct way {
	int folder;			/* so far */
	char rest[2 * PATH_MAX];	/* from there */
	unsigned int links;
};

static int way_go(struct way *w, int fd)
{
	if (fd < 0)
		return -errno;
	close(w->folder);
	w->folder = fd;
	return 0;
}

/*
 * Follows a link: puts its text before the rest of the path and returns 0.  The text of a link in
 * procfs need not be a path to its target, so the kernel follows it: returns 1.
 */
static int way_follow(struct output *o, struct way *w, int link, const char *name, const char *rest)
{
	char text[2 * PATH_MAX];
	struct stat folder, st;
	ssize_t n;

	if (fstat(w->folder, &folder) || fstat(link, &st))
		return output_reject_errno(o);
	if (!link_may_follow(&folder, &st))
		return output_reject(o, -ELOOP, "\"%.100s\" is a link of user %u's, in a folder "
				     "where others can write: name what it leads to", name,
				     st.st_uid);
	if (fd_in_proc(w->folder) && *rest)
		return way_go(w, openat(w->folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC)) ?
			       output_reject_errno(o) : 1;
	if (++w->links > LINKS_MAX)
		return output_reject(o, -ELOOP, "%s", strerror(ELOOP));
	n = readlinkat(link, "", text, PATH_MAX);
	if (n < 0)
		return output_reject_errno(o);
	if (n == PATH_MAX || (size_t)n + strlen(rest) + 2 > PATH_MAX)
		return output_reject(o, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	sprintf(text + n, "%s%s", *rest ? "/" : "", rest);
	strcpy(w->rest, text);
	if (*text == '/' && way_go(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)))
		return output_reject_errno(o);
	return 0;
}

/* Takes the next name of the path into o->name.  1: it was the last; 0: w->rest remains. */
static int way_step(struct output *o, struct way *w)
{
	char *name = w->rest + strspn(w->rest, "/"), *rest;
	size_t len = strcspn(name, "/");
	struct stat st;
	int fd, code;

	if (len == 0 || len > NAME_MAX)
		return output_reject(o, len ? -ENAMETOOLONG : -EISDIR, "%s",
				     strerror(len ? ENAMETOOLONG : EISDIR));
	rest = name + len + strspn(name + len, "/");
	memcpy(o->name, name, len);
	o->name[len] = '\0';
	fd = openat(w->folder, o->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && !*rest)
		return 1;
	if (fd < 0 || fstat(fd, &st)) {
		code = output_reject_errno(o);
	} else if (S_ISLNK(st.st_mode) && !(fd_in_proc(w->folder) && !*rest)) {
		code = way_follow(o, w, fd, o->name, rest);
		if (code > 0) {
			memmove(w->rest, rest, strlen(rest) + 1);
			code = 0;
		}
	} else if (!*rest) {
		code = 1;
	} else if (way_go(w, openat(w->folder, o->name,
				    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))) {
		code = output_reject_errno(o);
	} else {
		memmove(w->rest, rest, strlen(rest) + 1);
		code = 0;
	}
	if (fd >= 0)
		close(fd);
	return code;
}

/* Opens the folder of `path` as o->folder; o->name is the name in it. */
static int output_find_folder(struct output *o, const char *path)
{
	struct way w = { .folder = -1 };
	int code = 0;

	*o = OUTPUT_NONE;
	if (!*path || strlen(path) >= PATH_MAX)
		return output_reject(o, *path ? -ENAMETOOLONG : -ENOENT, "%s",
				     strerror(*path ? ENAMETOOLONG : ENOENT));
	strcpy(w.rest, path);
	w.folder = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w.folder < 0)
		return output_reject_errno(o);
	while (!code)
		code = way_step(o, &w);
	if (code > 0)
		o->folder = w.folder;
	else
		close(w.folder);
	return code > 0 ? 0 : code;
}

/* --- the file itself ---------------------------------------------------------------------- */

static void output_leave_folder(struct output *o)
{
	if (o->folder >= 0)
		close(o->folder);
	o->folder = -1;
}

/* Another user's FIFO in a sticky folder that all may write to: the rule of fs.protected_fifos. */
static bool output_is_trap(const struct output *o, const struct stat *st)
{
	struct stat folder;

	return S_ISFIFO(st->st_mode) && !uid_is_ours(st->st_uid) &&
	       (fstat(o->folder, &folder) || ((folder.st_mode & S_ISVTX) &&
		(folder.st_mode & S_IWOTH) && folder.st_uid != st->st_uid));
}

/* Opens an existing file: not a regular one, or the caller's own if the folder takes no new one. */
static int output_open_existing(struct output *o, int flags)
{
	struct stat st;
	int err = 0;

	if (fd_in_proc(o->folder))
		flags = O_TRUNC;	/* /proc/self/fd/N cannot be redirected */
	o->fd = openat(o->folder, o->name, O_WRONLY | O_NOCTTY | O_CLOEXEC | flags);
	if (o->fd < 0 || fstat(o->fd, &st))
		err = output_reject_errno(o);
	else if (!(flags & O_TRUNC) && S_ISREG(st.st_mode))
		err = output_reject(o, -EAGAIN, "it was replaced meanwhile");
	output_leave_folder(o);
	if (err && o->fd >= 0) {
		close(o->fd);
		o->fd = -1;
	}
	return err;
}

static bool output_is_special(const struct output *o, const struct stat *st)
{
	return !S_ISREG(st->st_mode) || fd_in_proc(o->folder);
}

static int temporary_choose(struct output *o)
{
	unsigned long long random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(o->temporary, sizeof(o->temporary), ".%.16s-%016llx",
		 program_invocation_short_name, random);
	return 0;
}

/* Makes a file without a name, which leaves nothing behind; if O_TMPFILE fails, one with a name. */
static int temporary_make(struct output *o, mode_t mode)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOCTTY, err;

	o->fd = openat(o->folder, ".", flags | O_TMPFILE, mode);
	if (o->fd >= 0)
		return 0;
	do {
		err = temporary_choose(o);
		if (!err) {
			o->fd = openat(o->folder, o->temporary,
				       flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
			err = o->fd < 0 ? -errno : 0;
		}
	} while (err == -EEXIST);
	if (err)
		*o->temporary = '\0';
	return err ? output_reject(o, err, "%s", strerror(-err)) : 0;
}

/* Gives a name to a file without one. */
static int temporary_name(struct output *o)
{
	int err = *o->temporary ? 0 : -EEXIST;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd);
	while (err == -EEXIST) {
		err = temporary_choose(o);
		if (!err && linkat(AT_FDCWD, path, o->folder, o->temporary, AT_SYMLINK_FOLLOW))
			err = -errno;
		if (err)
			*o->temporary = '\0';
	}
	return err;
}

static int output_appear(struct output *o)
{
	if (renameat(o->folder, o->temporary, o->folder, o->name))
		return -errno;
	*o->temporary = '\0';
	return 0;
}

/* Removes a file that has not appeared, and closes the folder. */
static void output_disappear(struct output *o)
{
	if (*o->temporary)
		unlinkat(o->folder, o->temporary, 0);
	*o->temporary = '\0';
	output_leave_folder(o);
}

/*
 * In a sticky folder only its owner, the file's owner and root may replace a file.  rename(2) would
 * report it too late.
 */
static bool output_may_replace(const struct output *o, const struct stat *old)
{
	struct stat folder;

	return !fstat(o->folder, &folder) &&
	       (!(folder.st_mode & S_ISVTX) || geteuid() == 0 || old->st_uid == geteuid() ||
		folder.st_uid == geteuid());
}

static int output_make_file(struct output *o, const struct stat *old, enum output_kind kind,
			    mode_t mode)
{
	int err = temporary_make(o, mode);

	if (err == -EACCES && old && old->st_uid == geteuid())
		return output_open_existing(o, O_NOFOLLOW | O_TRUNC);
	if (!err && old && mode == 0666 && old->st_uid == geteuid() &&
	    fchmod(o->fd, old->st_mode & 0777))
		err = output_reject_errno(o);
	if (!err && kind == OUTPUT_GROWING) {
		err = temporary_name(o);
		if (!err)
			err = output_appear(o);
		if (err)
			output_reject(o, err, "%s", strerror(-err));
	}
	if (err || kind == OUTPUT_GROWING)
		output_disappear(o);
	if (err && o->fd >= 0) {
		close(o->fd);
		o->fd = -1;
	}
	return err;
}

int output_create(struct output *o, const char *path, enum output_kind kind, mode_t mode)
{
	int err = output_find_folder(o, path);
	bool old = false;
	struct stat st;

	if (err)
		return err;
	if (!fstatat(o->folder, o->name, &st, AT_SYMLINK_NOFOLLOW))
		old = true;
	else if (errno != ENOENT)
		err = output_reject_errno(o);
	if (!err && ((old && S_ISDIR(st.st_mode)) || path[strlen(path) - 1] == '/'))
		err = output_reject(o, -EISDIR, "%s", strerror(EISDIR));
	if (!err && old && output_is_trap(o, &st))
		err = output_reject(o, -EACCES, "it is a FIFO of user %u's, in a folder where "
				    "everybody can make one", st.st_uid);
	if (!err && old && output_is_special(o, &st))
		return output_open_existing(o, O_NOFOLLOW);
	if (!err && old && !output_may_replace(o, &st))
		err = output_reject(o, -EPERM, "the old file is user %u's, who alone may replace "
				    "it in this folder", st.st_uid);
	if (!err)
		return output_make_file(o, old ? &st : NULL, kind, mode);
	output_leave_folder(o);
	return err;
}

int output_finish(struct output *o, bool complete)
{
	int err = complete && o->folder >= 0 ? temporary_name(o) : 0;

	/* Some file systems report errors only now. */
	if (o->fd >= 0 && close(o->fd) && !err)
		err = -errno;
	o->fd = -1;
	if (complete && !err && *o->temporary)
		err = output_appear(o);
	output_disappear(o);
	return err;
}

int output_folder(struct output *o, const char *path)
{
	int err = output_find_folder(o, path);

	if (!err && mkdirat(o->folder, o->name, 0777) && errno != EEXIST)
		err = output_reject_errno(o);
	output_leave_folder(o);
	return err;
}

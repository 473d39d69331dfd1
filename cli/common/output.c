/* SPDX-License-Identifier: BSD-2-Clause */
/* See output.h. */
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

static int reject(struct output *o, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int reject(struct output *o, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(o->why, sizeof(o->why), fmt, ap);
	va_end(ap);
	return err;
}

static int reject_errno(struct output *o)
{
	int err = -errno;

	return reject(o, err, "%s", strerror(-err));
}

/* --- the way to the folder ------------------------------------------------------------------- */

static bool is_ours(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

/* Others may have made a second name for a link that is not theirs. */
static bool may_follow(const struct stat *folder, const struct stat *link)
{
	return (is_ours(link->st_uid) && link->st_nlink == 1) ||
	       (is_ours(folder->st_uid) && !(folder->st_mode & (S_IWGRP | S_IWOTH)));
}

static bool in_proc(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
}

struct way {
	int folder;			/* so far */
	char rest[2 * PATH_MAX];	/* from there */
	unsigned int links;
};

static int go_to(struct way *w, int fd)
{
	if (fd < 0)
		return -errno;
	close(w->folder);
	w->folder = fd;
	return 0;
}

/*
 * Puts what the link says before the rest of the way: 0.  A link of procfs is more than its text
 * and is followed by the kernel: 1.
 */
static int follow(struct output *o, struct way *w, int link, const char *name, const char *rest)
{
	char text[2 * PATH_MAX];
	struct stat folder, st;
	ssize_t n;

	if (fstat(w->folder, &folder) || fstat(link, &st))
		return reject_errno(o);
	if (!may_follow(&folder, &st))
		return reject(o, -ELOOP, "\"%.100s\" is a link of user %u's, in a folder where "
			      "others can write: name what it leads to", name, st.st_uid);
	if (in_proc(w->folder) && *rest)
		return go_to(w, openat(w->folder, name, O_PATH | O_DIRECTORY | O_CLOEXEC)) ?
			       reject_errno(o) : 1;
	if (++w->links > LINKS_MAX)
		return reject(o, -ELOOP, "%s", strerror(ELOOP));
	n = readlinkat(link, "", text, PATH_MAX);
	if (n < 0)
		return reject_errno(o);
	if (n == PATH_MAX || (size_t)n + strlen(rest) + 2 > PATH_MAX)
		return reject(o, -ENAMETOOLONG, "%s", strerror(ENAMETOOLONG));
	sprintf(text + n, "%s%s", *rest ? "/" : "", rest);
	strcpy(w->rest, text);
	if (*text == '/' && go_to(w, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)))
		return reject_errno(o);
	return 0;
}

/* One name further.  1: it was the last, which is in o->name; 0: w->rest is left. */
static int step(struct output *o, struct way *w)
{
	char *name = w->rest + strspn(w->rest, "/"), *rest;
	size_t len = strcspn(name, "/");
	struct stat st;
	int fd, code;

	if (len == 0 || len > NAME_MAX)
		return reject(o, len ? -ENAMETOOLONG : -EISDIR, "%s",
			      strerror(len ? ENAMETOOLONG : EISDIR));
	rest = name + len + strspn(name + len, "/");
	memcpy(o->name, name, len);
	o->name[len] = '\0';
	fd = openat(w->folder, o->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && !*rest)
		return 1;
	if (fd < 0 || fstat(fd, &st)) {
		code = reject_errno(o);
	} else if (S_ISLNK(st.st_mode) && !(in_proc(w->folder) && !*rest)) {
		code = follow(o, w, fd, o->name, rest);
		if (code > 0) {
			memmove(w->rest, rest, strlen(rest) + 1);
			code = 0;
		}
	} else if (!*rest) {
		code = 1;
	} else if (go_to(w, openat(w->folder, o->name,
				   O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC))) {
		code = reject_errno(o);
	} else {
		memmove(w->rest, rest, strlen(rest) + 1);
		code = 0;
	}
	if (fd >= 0)
		close(fd);
	return code;
}

/* Opens the folder of `path`, as o->folder, and finds the name in it. */
static int find_folder(struct output *o, const char *path)
{
	struct way w = { .folder = -1 };
	int code = 0;

	*o = OUTPUT_NONE;
	if (!*path || strlen(path) >= PATH_MAX)
		return reject(o, *path ? -ENAMETOOLONG : -ENOENT, "%s",
			      strerror(*path ? ENAMETOOLONG : ENOENT));
	strcpy(w.rest, path);
	w.folder = open(*path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w.folder < 0)
		return reject_errno(o);
	while (!code)
		code = step(o, &w);
	if (code > 0)
		o->folder = w.folder;
	else
		close(w.folder);
	return code > 0 ? 0 : code;
}

/* --- what is written to ---------------------------------------------------------------------- */

static void leave_folder(struct output *o)
{
	if (o->folder >= 0)
		close(o->folder);
	o->folder = -1;
}

/* A FIFO of somebody else's in a folder for all, as the kernel's fs.protected_fifos judges. */
static bool is_trap(const struct output *o, const struct stat *st)
{
	struct stat folder;

	return S_ISFIFO(st->st_mode) && !is_ours(st->st_uid) &&
	       (fstat(o->folder, &folder) || ((folder.st_mode & S_ISVTX) &&
		(folder.st_mode & S_IWOTH) && folder.st_uid != st->st_uid));
}

/* What is there already, and stays: no file, or one's own where no other can be made. */
static int write_directly(struct output *o, int flags)
{
	struct stat st;
	int err = 0;

	if (in_proc(o->folder))
		flags = O_TRUNC;	/* /proc/self/fd/N is a link that leads to one place only */
	o->fd = openat(o->folder, o->name, O_WRONLY | O_NOCTTY | O_CLOEXEC | flags);
	if (o->fd < 0 || fstat(o->fd, &st))
		err = reject_errno(o);
	else if (!(flags & O_TRUNC) && S_ISREG(st.st_mode))
		err = reject(o, -EAGAIN, "it was replaced meanwhile");
	leave_folder(o);
	if (err && o->fd >= 0) {
		close(o->fd);
		o->fd = -1;
	}
	return err;
}

static bool is_special(const struct output *o, const struct stat *st)
{
	return !S_ISREG(st->st_mode) || in_proc(o->folder);
}

static int choose_temporary(struct output *o)
{
	unsigned long long random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return -errno;
	snprintf(o->temporary, sizeof(o->temporary), ".%.16s-%016llx",
		 program_invocation_short_name, random);
	return 0;
}

/* A file without a name, which leaves nothing behind, or where there are none, one with a name. */
static int make_temporary(struct output *o, mode_t mode)
{
	int flags = O_RDWR | O_CLOEXEC | O_NOCTTY, err;

	o->fd = openat(o->folder, ".", flags | O_TMPFILE, mode);
	if (o->fd >= 0)
		return 0;
	do {
		err = choose_temporary(o);
		if (!err) {
			o->fd = openat(o->folder, o->temporary,
				       flags | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
			err = o->fd < 0 ? -errno : 0;
		}
	} while (err == -EEXIST);
	if (err)
		*o->temporary = '\0';
	return err ? reject(o, err, "%s", strerror(-err)) : 0;
}

/* Gives a name to a file without one. */
static int name_temporary(struct output *o)
{
	int err = *o->temporary ? 0 : -EEXIST;
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd);
	while (err == -EEXIST) {
		err = choose_temporary(o);
		if (!err && linkat(AT_FDCWD, path, o->folder, o->temporary, AT_SYMLINK_FOLLOW))
			err = -errno;
		if (err)
			*o->temporary = '\0';
	}
	return err;
}

static int appear(struct output *o)
{
	if (renameat(o->folder, o->temporary, o->folder, o->name))
		return -errno;
	*o->temporary = '\0';
	return 0;
}

/* Gives up what has not appeared, and the folder. */
static void disappear(struct output *o)
{
	if (*o->temporary)
		unlinkat(o->folder, o->temporary, 0);
	*o->temporary = '\0';
	leave_folder(o);
}

/* A sticky folder lets its owner, a file's owner and root replace a file; the kernel, not now. */
static bool may_replace(const struct output *o, const struct stat *old)
{
	struct stat folder;

	return !fstat(o->folder, &folder) &&
	       (!(folder.st_mode & S_ISVTX) || geteuid() == 0 || old->st_uid == geteuid() ||
		folder.st_uid == geteuid());
}

static int make_file(struct output *o, const struct stat *old, enum output_kind kind, mode_t mode)
{
	int err = make_temporary(o, mode);

	if (err == -EACCES && old && old->st_uid == geteuid())
		return write_directly(o, O_NOFOLLOW | O_TRUNC);
	if (!err && old && mode == 0666 && old->st_uid == geteuid() &&
	    fchmod(o->fd, old->st_mode & 0777))
		err = reject_errno(o);
	if (!err && kind == OUTPUT_GROWING) {
		err = name_temporary(o);
		if (!err)
			err = appear(o);
		if (err)
			reject(o, err, "%s", strerror(-err));
	}
	if (err || kind == OUTPUT_GROWING)
		disappear(o);
	if (err && o->fd >= 0) {
		close(o->fd);
		o->fd = -1;
	}
	return err;
}

int output_create(struct output *o, const char *path, enum output_kind kind, mode_t mode)
{
	int err = find_folder(o, path);
	bool old = false;
	struct stat st;

	if (err)
		return err;
	if (!fstatat(o->folder, o->name, &st, AT_SYMLINK_NOFOLLOW))
		old = true;
	else if (errno != ENOENT)
		err = reject_errno(o);
	if (!err && ((old && S_ISDIR(st.st_mode)) || path[strlen(path) - 1] == '/'))
		err = reject(o, -EISDIR, "%s", strerror(EISDIR));
	if (!err && old && is_trap(o, &st))
		err = reject(o, -EACCES, "it is a FIFO of user %u's, in a folder where everybody "
			     "can make one", st.st_uid);
	if (!err && old && is_special(o, &st))
		return write_directly(o, O_NOFOLLOW);
	if (!err && old && !may_replace(o, &st))
		err = reject(o, -EPERM, "the old file is user %u's, who alone may replace it in "
			     "this folder", st.st_uid);
	if (!err)
		return make_file(o, old ? &st : NULL, kind, mode);
	leave_folder(o);
	return err;
}

int output_finish(struct output *o, bool complete)
{
	int err = complete && o->folder >= 0 ? name_temporary(o) : 0;

	/* A disk may report its errors only now. */
	if (o->fd >= 0 && close(o->fd) && !err)
		err = -errno;
	o->fd = -1;
	if (complete && !err && *o->temporary)
		err = appear(o);
	disappear(o);
	return err;
}

int output_folder(struct output *o, const char *path)
{
	int err = find_folder(o, path);

	if (!err && mkdirat(o->folder, o->name, 0777) && errno != EEXIST)
		err = reject_errno(o);
	leave_folder(o);
	return err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What policy.h needs to know about processes, read from /proc. */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy.h"

#define MAX_PID_NS_DEPTH 32

static int read_at(int dir, const char *name, char *buf, size_t size, struct stat *st)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -ESRCH;
	n = read(fd, buf, size - 1);
	if (st && fstat(fd, st))
		n = -1;
	close(fd);
	if (n <= 0)
		return -ESRCH;
	buf[n] = '\0';
	return 0;
}

/* The text after "\nName:\t", or "". */
static const char *field(const char *status, const char *name)
{
	const char *p = strstr(status, name);

	return p ? p + strlen(name) : "";
}

static void read_ids(const char *p, unsigned int ids[IDS])
{
	for (unsigned int i = 0; i < IDS; i++) {
		char *end;

		ids[i] = (unsigned int)strtoul(p, &end, 10);
		p = end;
	}
}

static pid_t last_number(const char *p)
{
	long n = 0;

	while (*p && *p != '\n') {
		char *end;

		n = strtol(p, &end, 10);
		if (end == p)
			break;
		p = end + strspn(end, " \t");
	}
	return (pid_t)n;
}

static uint64_t inode_at(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, 0) ? 0 : st.st_ino;
}

/* Field 22; the command in field 2 may hold anything, so counting starts behind its last ')'. */
static uint64_t start_time(const char *stat)
{
	const char *p = strrchr(stat, ')');

	for (unsigned int i = 2; p && i < 22; i++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

static void parse_status(const char *status, struct cred *c)
{
	unsigned int ids[IDS];

	read_ids(field(status, "\nUid:\t"), ids);
	memcpy(c->uid, ids, sizeof(c->uid));
	read_ids(field(status, "\nGid:\t"), ids);
	memcpy(c->gid, ids, sizeof(c->gid));
	c->permitted = strtoull(field(status, "\nCapPrm:\t"), NULL, 16);
	c->effective = strtoull(field(status, "\nCapEff:\t"), NULL, 16);
	c->inner_pid = last_number(field(status, "\nNSpid:\t"));
	c->leader = strtol(field(status, "\nTgid:\t"), NULL, 10) == c->pid;
}

int policy_read_cred(pid_t pid, struct cred *c)
{
	char path[32], text[4096];
	struct stat st;
	int dir, err;

	memset(c, 0, sizeof(*c));
	c->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	/* One directory descriptor names one process, whatever happens to the number meanwhile. */
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -ESRCH;
	err = read_at(dir, "status", text, sizeof(text), &st);
	if (err)
		goto out;
	parse_status(text, c);
	/* The files of a process that may not be inspected belong to root, not to its user. */
	c->dumpable = st.st_uid == c->uid[ID_EFFECTIVE] && st.st_gid == c->gid[ID_EFFECTIVE];
	err = read_at(dir, "stat", text, sizeof(text), NULL);
	if (err)
		goto out;
	c->start = start_time(text);
	c->user_ns = inode_at(dir, "ns/user");
	c->pid_ns = inode_at(dir, "ns/pid");
out:
	close(dir);
	return err;
}

pid_t policy_pidfd_pid(int pidfd)
{
	char path[64], text[1024];
	const char *p;
	long pid;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (read_at(AT_FDCWD, path, text, sizeof(text), NULL))
		return -EBADF;
	p = strstr(text, "\nPid:\t");
	if (!p)
		return -EBADF;
	pid = strtol(p + 6, NULL, 10);
	/* 0: not in the daemon's pid namespace; -1: it has been collected. */
	return pid > 0 ? (pid_t)pid : -ESRCH;
}

bool policy_visible(const struct cred *target, uint64_t pid_ns)
{
	char path[64];
	bool seen = false;
	int fd;

	if (target->pid_ns == pid_ns)
		return true;
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", target->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	for (unsigned int depth = 0; fd >= 0 && !seen && depth < MAX_PID_NS_DEPTH; depth++) {
		struct stat st;
		int parent;

		seen = !fstat(fd, &st) && st.st_ino == pid_ns;
		parent = ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = parent;
	}
	if (fd >= 0)
		close(fd);
	return seen;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* See cred.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cred.h"
#include "lib/base/number.h"
#include "loader/base/base.h"

#define MAX_PID_NS_DEPTH 32

/* The text after "\nName:\t", or "". */
static const char *status_field(const char *status, const char *name)
{
	const char *p = strstr(status, name);

	return p ? p + strlen(name) : "";
}

static void status_ids(const char *p, unsigned int ids[IDS])
{
	for (unsigned int i = 0; i < IDS; i++) {
		char *end;

		ids[i] = (unsigned int)strtoul(p, &end, 10);
		p = end;
	}
}

/* The pid at a level of the line NSpid, or the last one; *last is its level. */
static pid_t status_pid(const char *p, unsigned int level, unsigned int *last)
{
	uint64_t n, pid = 0;

	for (unsigned int i = 0; i <= level && !number_read(&p, 10, INT32_MAX, &n); i++) {
		pid = n;
		*last = i;
		p += strspn(p, " \t");
	}
	return (pid_t)pid;
}

static uint64_t inode_at(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, 0) ? 0 : st.st_ino;
}

enum { STAT_PARENT = 4, STAT_START = 22, STAT_CODE = 26 };

/* The command in field 2 may hold anything, so counting starts behind its last ')'. */
static uint64_t stat_field(const char *stat, unsigned int n)
{
	const char *p = strrchr(stat, ')');

	for (unsigned int i = 2; p && i < n; i++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p + 1, NULL, 10) : 0;
}

static void status_parse(const char *status, struct cred *c)
{
	unsigned int ids[IDS];

	status_ids(status_field(status, "\nUid:\t"), ids);
	memcpy(c->uid, ids, sizeof(c->uid));
	status_ids(status_field(status, "\nGid:\t"), ids);
	memcpy(c->gid, ids, sizeof(c->gid));
	c->permitted = strtoull(status_field(status, "\nCapPrm:\t"), NULL, 16);
	c->effective = strtoull(status_field(status, "\nCapEff:\t"), NULL, 16);
	c->inner_pid = status_pid(status_field(status, "\nNSpid:\t"), MAX_PID_NS_DEPTH, &c->depth);
	c->leader = strtol(status_field(status, "\nTgid:\t"), NULL, 10) == c->pid;
}

/* The descriptor stays with the process, even if its number is used again. */
static int process_open(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int policy_read_cred(pid_t pid, struct cred *c)
{
	char text[4096];
	struct stat st;
	int dir, err = -ESRCH;

	memset(c, 0, sizeof(*c));
	c->pid = pid;
	dir = process_open(pid);
	if (dir < 0)
		return -ESRCH;
	if (file_read(dir, "status", text, sizeof(text)) <= 0 || fstatat(dir, "status", &st, 0))
		goto out;
	status_parse(text, c);
	/* The files of an undumpable process belong to root instead of its user. */
	c->dumpable = st.st_uid == c->uid[ID_EFFECTIVE] && st.st_gid == c->gid[ID_EFFECTIVE];
	if (file_read(dir, "stat", text, sizeof(text)) <= 0)
		goto out;
	c->start = stat_field(text, STAT_START);
	c->user_ns = inode_at(dir, "ns/user");
	c->pid_ns = inode_at(dir, "ns/pid");
	err = 0;
out:
	close(dir);
	return err;
}

/* The new memory has no code until all segments are mapped. */
bool policy_in_exec(pid_t pid)
{
	char text[1024], path[32];
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (file_read(AT_FDCWD, path, text, sizeof(text)) <= 0 || stat_field(text, STAT_CODE))
		return false;
	/* A main thread that has exited has no memory. */
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] != 'Z' && state[2] != 'X';
}

static int kernel_setting(const char *path, int strictest)
{
	char line[16];

	return file_line(path, line, sizeof(line)) || !*line ? strictest : atoi(line);
}

struct kernel_settings policy_kernel_settings(void)
{
	return (struct kernel_settings){
		.paranoid = kernel_setting("/proc/sys/kernel/perf_event_paranoid", 3),
		.kptr_restrict = kernel_setting("/proc/sys/kernel/kptr_restrict", 2),
	};
}

pid_t policy_pidfd_pid(int pidfd)
{
	char path[64], text[1024];
	const char *p;
	long pid;

	if (!file_is_pidfd(pidfd))
		return -EBADF;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	if (file_read(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return -EBADF;
	p = strstr(text, "\nPid:\t");
	if (!p)
		return -EBADF;
	pid = strtol(p + 6, NULL, 10);
	/* 0: not in the daemon's pid namespace; -1: it has been collected. */
	return pid > 0 ? (pid_t)pid : -ESRCH;
}

bool policy_pidfd_exited(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

int policy_read_label(pid_t pid, char *label, size_t size)
{
	int dir = process_open(pid), n;

	label[0] = '\0';
	if (dir < 0)
		return -ESRCH;
	n = file_read(dir, "attr/current", label, size);
	close(dir);
	label[strcspn(label, "\n")] = '\0';
	if (n == -EINVAL || n == -ENOENT)	/* no such module, or a kernel without any */
		return 0;
	return n < 0 ? n : n == (int)size - 1 ? -E2BIG : 0;
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

/*
 * The parent's directory, or -1.  The process is still its child after it was opened; a parent that
 * exits loses its children, so that another process of that number is not taken for it.
 */
static int process_open_parent(int dir, pid_t *parent)
{
	char text[1024];
	int up;

	if (file_read(dir, "stat", text, sizeof(text)) <= 0)
		return -1;
	*parent = (pid_t)stat_field(text, STAT_PARENT);
	if (*parent <= 0)
		return -1;
	up = process_open(*parent);
	if (up >= 0 && file_read(dir, "stat", text, sizeof(text)) > 0 &&
	    (pid_t)stat_field(text, STAT_PARENT) == *parent)
		return up;
	if (up >= 0)
		close(up);
	return -1;
}

bool policy_descends(pid_t pid, const struct cred *ancestor)
{
	char text[1024];
	bool found = false;
	int dir = process_open(pid);

	while (dir >= 0 && !found) {
		pid_t parent;
		int up = process_open_parent(dir, &parent);

		found = up >= 0 && parent == ancestor->pid &&
			file_read(up, "stat", text, sizeof(text)) > 0 &&
			stat_field(text, STAT_START) == ancestor->start;
		close(dir);
		dir = up;
	}
	if (dir >= 0)
		close(dir);
	return found;
}

pid_t policy_pid_in(const struct cred *c, const struct cred *viewer)
{
	char text[4096];
	unsigned int level = 0;
	pid_t pid = -1;
	int dir;

	if (c->pid_ns == viewer->pid_ns)
		return c->inner_pid;
	if (!policy_visible(c, viewer->pid_ns))
		return -1;
	dir = process_open(c->pid);
	if (dir < 0)
		return -1;
	if (file_read(dir, "status", text, sizeof(text)) > 0)
		pid = status_pid(status_field(text, "\nNSpid:\t"), viewer->depth, &level);
	close(dir);
	return level == viewer->depth ? pid : -1;
}

/* The number of a thread, a name in "task", at the viewer's level; -1: it has none there. */
static pid_t thread_number(int tasks, const char *name, unsigned int depth)
{
	char path[64], text[4096];
	unsigned int level = 0;
	pid_t pid = -1;

	snprintf(path, sizeof(path), "%s/status", name);
	if (file_read(tasks, path, text, sizeof(text)) > 0)
		pid = status_pid(status_field(text, "\nNSpid:\t"), depth, &level);
	return level == depth ? pid : -1;
}

/* Only a thread's own file has its number in a namespace below the daemon's. */
static pid_t thread_search(const struct cred *process, pid_t tid, const struct cred *viewer)
{
	int dir = process_open(process->pid), tasks = -1;
	pid_t found = -ESRCH;
	struct dirent *entry;
	DIR *list = NULL;

	if (dir >= 0) {
		tasks = openat(dir, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(dir);
	}
	if (tasks >= 0)
		list = fdopendir(tasks);
	if (!list && tasks >= 0)
		close(tasks);
	while (list && found < 0 && (entry = readdir(list)))
		if (entry->d_name[0] != '.' &&
		    thread_number(tasks, entry->d_name, viewer->depth) == tid)
			found = (pid_t)atoi(entry->d_name);
	if (list)
		closedir(list);
	return found;
}

pid_t policy_thread(const struct cred *process, pid_t tid, const struct cred *viewer)
{
	char path[48];

	if (viewer->depth)
		return thread_search(process, tid, viewer);
	snprintf(path, sizeof(path), "/proc/%d/task/%d", process->pid, tid);
	return access(path, F_OK) ? -ESRCH : tid;
}

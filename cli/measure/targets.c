/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes of -t: found by number or name, held by pidfd, which reports their end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "lib/base/thread.h"
#include "measure.h"

#define PIDFD_OF_THREAD O_EXCL		/* PIDFD_THREAD, since Linux 6.9 */

#define CGROUPS "/sys/fs/cgroup"

/* A path that does not begin with a slash is below the usual folder. */
static int targets_want_cgroup(struct measure *m, const char *path)
{
	struct target_wanted *wanted = &m->wanted[m->nwanted];
	int top = open(CGROUPS, O_PATH | O_DIRECTORY | O_CLOEXEC);

	wanted->cgroup = *path ? openat(top, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (wanted->cgroup < 0 && *path)
		(void)fail_errno(EX_DATAERR, "ERROR: Cannot open the cgroup \"%s%s\"",
				 *path == '/' ? "" : CGROUPS "/", path);
	if (top >= 0)
		close(top);
	if (!*path)
		return fail(EX_USAGE, "ERROR: -t cgroup: needs the path of a cgroup.");
	if (wanted->cgroup < 0)
		return EX_DATAERR;
	m->nwanted++;
	return 0;
}

/*
 * A number is a process, tid:NUMBER a thread, cgroup:PATH a cgroup, anything else an extended
 * regular expression for process names.
 */
int targets_want(struct measure *m, const char *text)
{
	bool thread = strncmp(text, "tid:", 4) == 0;
	const char *digits = thread ? text + 4 : text + (*text == '-');
	struct target_wanted *wanted;
	char why[128];
	uint64_t pid;
	int err;

	if (array_extend(m->wanted, m->nwanted))
		return fail_errno(EX_OSERR, "ERROR");
	wanted = &m->wanted[m->nwanted];
	*wanted = (struct target_wanted){ .text = text, .cgroup = -1 };
	if (strncmp(text, "cgroup:", 7) == 0)
		return targets_want_cgroup(m, text + 7);

	if (thread || (*digits && !digits[strspn(digits, "0123456789")])) {
		if (opt_number(thread ? digits : text, 10, 1, INT32_MAX, &pid) != 0)
			return fail(EX_USAGE, "ERROR: Illegal %s id \"%s\".",
				    thread ? "thread" : "process", text);
		wanted->tid = thread ? (pid_t)pid : 0;
		wanted->pid = thread ? 0 : (pid_t)pid;
		m->nwanted++;
		return 0;
	}
	err = regcomp(&wanted->name, text, REG_EXTENDED | REG_NOSUB);
	if (err) {
		regerror(err, &wanted->name, why, sizeof(why));
		return fail(EX_DATAERR, "ERROR: Failed to compile regex \"%s\": %s", text, why);
	}
	m->nwanted++;
	return 0;
}

bool targets_from(struct measure *m, int code)
{
	const enum from from = code == OPT_FROM_EXEC ? FROM_EXEC : FROM_FORK;

	if (code != OPT_FROM_EXEC && code != OPT_FROM_FORK)
		return false;
	m->from = m->from == FROM_USUAL || m->from == from ? from : FROM_BOTH;
	return true;
}

bool targets_are_thread(const struct measure *m)
{
	return m->nwanted && m->wanted[0].tid;
}

static int targets_check_thread(const struct measure *m)
{
	for (size_t i = 0; i < m->nwanted; i++)
		if (m->wanted[i].tid && (m->nwanted > 1 || m->command))
			return fail(EX_USAGE, "ERROR: -t %s counts one thread: no other -t and no "
				    "command go with it.", m->wanted[i].text);
	for (size_t i = 0; i < m->ncolumns && targets_are_thread(m); i++)
		if (m->columns[i].flags & (PMC_F_DESCENDANTS | PMC_F_LOG_PROCEXIT |
					   PMC_F_LOG_PROCCSW))
			return fail(EX_USAGE, "ERROR: options -d, -E and -W are for processes, "
				    "not for the thread of -t %s.", m->wanted[0].text);
	if (targets_are_thread(m) && m->from == FROM_EXEC)
		return fail(EX_USAGE, "ERROR: option --from-exec is for processes, not for the "
			    "thread of -t %s.", m->wanted[0].text);
	return 0;
}

int targets_cgroup(const struct measure *m)
{
	return m->nwanted ? m->wanted[0].cgroup : -1;
}

static int targets_check_cgroup(const struct measure *m)
{
	for (size_t i = 0; i < m->nwanted; i++)
		if (m->wanted[i].cgroup >= 0 && m->nwanted > 1)
			return fail(EX_USAGE, "ERROR: -t %s counts one cgroup: no other -t goes "
				    "with it.", m->wanted[i].text);
	if (targets_cgroup(m) < 0)
		return 0;
	for (size_t i = 0; i < m->ncolumns; i++) {
		if (m->columns[i].flags & (PMC_F_DESCENDANTS | PMC_F_LOG_PROCEXIT |
					   PMC_F_LOG_PROCCSW))
			return fail(EX_USAGE, "ERROR: options -d, -E and -W are for processes, "
				    "not for -t %s.", m->wanted[0].text);
	}
	if (m->from != FROM_USUAL)
		return fail(EX_USAGE, "ERROR: options --from-exec and --from-fork are for "
			    "processes, not for -t %s.", m->wanted[0].text);
	return 0;
}

int targets_check(const struct measure *m, bool processes)
{
	int code;

	if (m->from == FROM_BOTH)
		return fail(EX_USAGE, "ERROR: options --from-exec and --from-fork are mutually "
			    "exclusive.");
	if (m->from == FROM_USUAL || processes) {
		code = targets_check_cgroup(m);
		return code ? code : targets_check_thread(m);
	}
	return fail(EX_USAGE, "ERROR: options --from-exec and --from-fork require a process mode "
		    "PMC to be specified.");
}

static int targets_add(struct measure *m, pid_t pid)
{
	int fd;

	for (size_t i = 0; i < m->ntargets; i++) {
		if (m->targets[i].pid == pid)
			return 0;
	}
	if (array_extend(m->targets, m->ntargets))
		return fail_errno(EX_OSERR, "ERROR: Cannot get process list");
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* ESRCH: it has ended, and attaching will fail.  EINVAL and ENOENT: it is a thread. */
	if (fd < 0 && errno != ESRCH && errno != EINVAL && errno != ENOENT)
		return fail_errno(EX_OSERR, "ERROR: Cannot watch process %d", (int)pid);
	m->targets[m->ntargets++] = (struct target){ .pid = pid, .pidfd = fd };
	m->nliving += fd >= 0;
	return 0;
}

/* Kernels before 6.9 report the end of processes only: then the measurement ends with that. */
static int targets_add_thread(struct measure *m, pid_t tid)
{
	pid_t process = thread_process(tid);
	struct target *target;
	int code, fd;

	if (!process)
		return fail(EX_DATAERR, "ERROR: There is no thread %d.", (int)tid);
	code = targets_add(m, process);
	if (code)
		return code;
	target = &m->targets[m->ntargets - 1];
	target->tid = tid;
	fd = target->pidfd >= 0 ? (int)syscall(SYS_pidfd_open, tid, PIDFD_OF_THREAD) : -1;
	if (fd >= 0) {
		close(target->pidfd);
		target->pidfd = fd;
	}
	return 0;
}

static bool process_read_name(int proc, const char *pid, char *name, size_t size)
{
	char path[64];
	ssize_t len;
	int fd;

	if (snprintf(path, sizeof(path), "%s/comm", pid) >= (int)sizeof(path))
		return false;
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	len = read(fd, name, size - 1);
	close(fd);
	if (len <= 0)
		return false;
	name[len - (name[len - 1] == '\n')] = '\0';
	return true;
}

/* All but this process and its waiting command, which has the same name until it execs. */
static int targets_add_matching(struct measure *m, const struct target_wanted *wanted)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	char name[64];
	int code = 0;

	if (!dir)
		return fail_errno(EX_OSERR, "ERROR: Cannot get process list");
	while (!code && (entry = readdir(dir))) {
		uint64_t number;
		pid_t pid;

		if (opt_number(entry->d_name, 10, 1, INT32_MAX, &number) != 0)
			continue;
		pid = (pid_t)number;
		if (pid == getpid() || pid == m->child.pid)
			continue;
		if (process_read_name(dirfd(dir), entry->d_name, name, sizeof(name)) &&
		    regexec(&wanted->name, name, 0, NULL, 0) == 0)
			code = targets_add(m, pid);
	}
	closedir(dir);
	return code;
}

int targets_find(struct measure *m)
{
	int code = 0;

	if (targets_cgroup(m) >= 0)
		return 0;
	for (size_t i = 0; i < m->nwanted && !code; i++) {
		if (m->wanted[i].tid)
			code = targets_add_thread(m, m->wanted[i].tid);
		else if (m->wanted[i].pid)
			code = targets_add(m, m->wanted[i].pid);
		else
			code = targets_add_matching(m, &m->wanted[i]);
	}
	if (!code && m->nwanted && !m->ntargets && !m->child.pid)
		code = fail(EX_DATAERR, "ERROR: No matching target processes. No process has a "
			    "name (/proc/PID/comm, up to 15 characters) that matches \"%s\"",
			    m->wanted[0].text);
	return code;
}

int targets_none_left(const struct measure *m)
{
	static const char none[] = "ERROR: No processes were attached to.";
	pid_t first = m->ntargets ? m->targets[0].pid : 0;
	pid_t process = first ? thread_process(first) : 0;

	if (m->ntargets && m->targets[0].tid)
		return fail(EX_DATAERR, "%s The thread %d of process %d has ended", none,
			    (int)m->targets[0].tid, (int)first);
	if (process && process != first)
		return fail(EX_DATAERR, "%s %d is a thread of process %d: name the process, or "
			    "tid:%d to count the thread alone", none, (int)first, (int)process,
			    (int)first);
	if (first)
		return fail(EX_DATAERR, "%s There is no process %d%s", none, (int)first,
			    m->nwanted && m->wanted[0].pid ? "" : " any more");
	return fail(EX_DATAERR, "%s", none);
}

void targets_free(struct measure *m)
{
	for (size_t i = 0; i < m->ntargets; i++) {
		if (m->targets[i].pidfd >= 0)
			close(m->targets[i].pidfd);
	}
	for (size_t i = 0; i < m->nwanted; i++) {
		if (m->wanted[i].cgroup >= 0)
			close(m->wanted[i].cgroup);
		else if (!m->wanted[i].pid && !m->wanted[i].tid)
			regfree(&m->wanted[i].name);
	}
	free(m->targets);
	free(m->wanted);
}

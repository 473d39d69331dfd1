/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The measured command.  It is forked first and waits on a socket while PMCs are attached and
 * started, so that no event of it is missed; then '!' lets it exec.  The socket closes on exec: end
 * of file means that the command runs, an errno that exec failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "measure.h"
#include "place.h"

#define READY '+'
#define GO    '!'

/* The command inherits signals as they were when this program started. */
static void child_restore_signals(const struct measure *m)
{
	sigaction(SIGPIPE, &m->old_pipe, NULL);
	sigaction(SIGCHLD, &m->old_child, NULL);
	sigaction(SIGIO, &m->old_io, NULL);
	sigprocmask(SIG_SETMASK, &m->old_mask, NULL);
}

/* If a live view has the terminal, the command writes to `output` and reads /dev/null. */
static void child_leave_terminal(int output)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (isatty(STDIN_FILENO))
		dup2(null, STDIN_FILENO);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		if (isatty(fd))
			dup2(output, fd);
	}
}

__attribute__((noreturn)) static void child_wait_and_exec(const struct measure *m, int sock)
{
	char word = READY;
	int err;

	if (write(sock, &word, 1) != 1 || read(sock, &word, 1) != 1 || word != GO)
		_exit(EX_OSERR);	/* the parent gave up and has printed why */
	child_restore_signals(m);
	if (m->child.output >= 0)
		child_leave_terminal(m->child.output);
	err = m->child.traced && ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? errno : 0;
	if (!err) {
		execvp(m->command[0], m->command);
		err = errno;
	}
	if (write(sock, &err, sizeof(err)) != sizeof(err))
		_exit(EX_SOFTWARE);
	_exit(EX_OSERR);
}

/* The state letter in /proc/PID/stat.  It follows the name, which may hold any character. */
static char process_read_state(pid_t pid)
{
	char path[64], line[512];
	ssize_t n = -1;
	char *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, line, sizeof(line) - 1);
		close(fd);
	}
	if (n <= 0)
		return '?';
	line[n] = '\0';
	end = strrchr(line, ')');
	return end && strlen(end) > 2 ? end[2] : '?';
}

/*
 * Waits until the child sleeps in its read(): the instructions on its way there would be counted in
 * one run and not in the next.  On a very busy machine the wait ends early, at that price.
 */
static void child_settle(const struct child *child)
{
	const struct timespec pause = { .tv_nsec = 100000 };

	for (int i = 0; i < 1000 && process_read_state(child->pid) == 'R'; i++)
		nanosleep(&pause, NULL);
}

/* Does execvp(3) find the name in $PATH? */
static bool path_has(const char *name)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	for (size_t len; path; path = path[len] ? path + len + 1 : NULL) {
		len = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/%s", len ? (int)len : 1, len ? path : ".", name);
		if (access(file, X_OK) == 0)
			return true;
	}
	errno = ENOENT;
	return false;
}

/* Checked before an old log is overwritten: a mistyped command must not destroy it. */
int child_check(struct measure *m)
{
	const char *name = m->command ? *m->command : NULL;

	if (!name || (strchr(name, '/') ? access(name, X_OK) == 0 : path_has(name)))
		return 0;
	return fail_errno(EX_OSERR, "ERROR: execvp \"%s\" failed", name);
}

int child_spawn(struct measure *m)
{
	struct child *child = &m->child;
	int pair[2];
	char word;

	if (!m->command)
		return 0;
	child->traced = place_any(m);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return fail_errno(EX_OSERR, "ERROR: cannot create a socket pair");
	child->pid = fork();
	if (child->pid == 0) {
		close(pair[0]);
		child_wait_and_exec(m, pair[1]);
	}
	close(pair[1]);
	child->sock = pair[0];
	if (child->pid < 0) {
		child->pid = 0;
		return fail_errno(EX_OSERR, "ERROR: cannot fork");
	}
	/* Its pid cannot be reused before child_collect(). */
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	if (child->pidfd < 0)
		return fail_errno(EX_OSERR, "ERROR: Cannot watch process %d", (int)child->pid);
	if (read(child->sock, &word, 1) != 1 || word != READY)
		return fail(EX_OSERR, "ERROR: the process for the command died before its start");
	child_settle(child);
	return 0;
}

int child_go(struct measure *m)
{
	static const char word = GO;

	if (m->child.pid && send(m->child.sock, &word, 1, MSG_NOSIGNAL) != 1)
		return fail_errno(EX_OSERR, "ERROR: cannot start the command");
	return 0;
}

/* The next stop of the command.  False: it has ended, and is collected later. */
static bool child_next_stop(const struct child *child, int *signo)
{
	siginfo_t info;
	int status;

	while (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WSTOPPED | WNOWAIT) != 0)
		if (errno != EINTR)
			return false;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return false;
	if (waitpid(child->pid, &status, WUNTRACED) != child->pid || !WIFSTOPPED(status))
		return false;
	*signo = WSTOPSIG(status);
	return true;
}

int child_hold(struct measure *m, bool *held)
{
	const struct child *child = &m->child;
	int signo;

	*held = false;
	while (child_next_stop(child, &signo)) {
		*held = signo == SIGTRAP;
		if (*held)
			return 0;
		/* A signal that was sent before the exec. */
		if (ptrace(PTRACE_CONT, child->pid, NULL, (long)signo) != 0)
			return fail_errno(EX_OSERR, "ERROR: cannot continue the command");
	}
	return 0;
}

int child_release(struct measure *m, int code)
{
	if (!code && ptrace(PTRACE_DETACH, m->child.pid, NULL, 0L) != 0)
		code = fail_errno(EX_OSERR, "ERROR: cannot start the command");
	if (code)
		kill(m->child.pid, SIGKILL);
	return code;
}

/* Closing the socket ends a child that waits; a command that runs is waited for. */
void child_abort(struct measure *m)
{
	if (m->child.sock >= 0) {
		close(m->child.sock);
		m->child.sock = -1;
	}
	child_collect(m);
}

void child_collect(struct measure *m)
{
	struct child *child = &m->child;
	pid_t pid;

	if (!child->pid)
		return;
	do {
		pid = waitpid(child->pid, &child->status, 0);
	} while (pid < 0 && errno == EINTR);
	child->collected = pid == child->pid;
	child->pid = 0;
}

bool child_ask(struct measure *m, int signo)
{
	if (!m->child.pid || kill(m->child.pid, signo) != 0)
		return false;
	m->child.asked = signo;
	return true;
}

/*
 * The exit status, passed on as perf(1) does.  A command that was asked to end, by -l or by a
 * signal, has ended as it should, so its status counts only with --exit-status (`asked`).  Then a
 * command that outlives the measurement counts as killed by the signal that it was sent.
 */
int child_exit_code(const struct child *child, bool asked)
{
	if (child->asked && !asked)
		return 0;
	if (!child->collected)
		return child->asked ? 128 + child->asked : 0;
	if (WIFSIGNALED(child->status))
		return 128 + WTERMSIG(child->status);
	return WEXITSTATUS(child->status);
}

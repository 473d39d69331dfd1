/* SPDX-License-Identifier: BSD-2-Clause */
/* The private daemon must not show up among the program's children: no SIGCHLD, no zombie. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/wire.h"
#include "lib/read/read.h"
#include "spawn.h"

/* fork() without a death signal, so that the program's own wait() never sees this child. */
static pid_t spawn_fork(void)
{
#ifdef __s390x__
	return syscall(SYS_clone, NULL, 0UL);
#else
	return syscall(SYS_clone, 0UL, NULL, NULL, NULL, NULL);
#endif
}

/* In the grandchild: system calls only, nothing that could want a lock of another thread. */
__attribute__((noreturn)) static void spawn_exec(const char *path, char *const argv[], int fd,
						 int log)
{
	sigset_t none;
	int null;

	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(log, 2) < 0 ||
	    fcntl(fd, F_SETFD, 0) < 0)
		_exit(126);
	execve(path, argv, environ);
	dprintf(2, "%s: %s\n", path, strerror(errno));
	_exit(127);
}

/* Two forks: the daemon belongs to init, and the one in between is collected at once. */
static int spawn_launch(const char *path, char *const argv[], int fd, int log, struct reason *why)
{
	pid_t pid = spawn_fork();
	int status;

	if (pid < 0)
		return deny(why, -errno, "no process for a pmcbpfd of its own: %s",
			    strerror(errno));
	if (pid == 0) {
		pid = spawn_fork();
		if (pid == 0)
			spawn_exec(path, argv, fd, log);
		_exit(pid < 0);
	}
	while (waitpid(pid, &status, __WALL) < 0)
		if (errno != EINTR)
			return 0;	/* the program ignores SIGCHLD: already collected */
	if (status != 0)
		return deny(why, -EAGAIN, "no process for a pmcbpfd of its own");
	return 0;
}

/*
 * The daemon that belongs to this library: of the same build or installation tree where there is
 * one beside it, else where it was configured to be installed.
 */
static const char *spawn_path(char *buf, size_t size)
{
	const char *chosen = secure_getenv("PMCBPF_DAEMON");
	Dl_info self;
	char *slash;

	if (chosen && *chosen)
		return chosen;
	if (!getauxval(AT_SECURE) && dladdr((void *)spawn_daemon, &self) &&
	    self.dli_fname[0] == '/' &&
	    strlen(self.dli_fname) < size - sizeof("/../sbin/pmcbpfd")) {
		strcpy(buf, self.dli_fname);
		slash = strrchr(buf, '/');
		strcpy(slash, "/../sbin/pmcbpfd");
		if (access(buf, X_OK) == 0)
			return buf;
	}
	return PMCBPF_SBINDIR "/pmcbpfd";
}

int spawn_daemon(int *fd, int *log, struct reason *why)
{
	char beside[4096];
	const char *path = spawn_path(beside, sizeof(beside));
	char option[32];
	char *argv[] = { (char *)"pmcbpfd", (char *)"-f", option, NULL };
	int pair[2], err = 0, messages = -1, on = 1;

	if (access(path, X_OK) < 0)
		return deny(why, -ENOENT,
			    "no pmcbpfd answers at " WIRE_SOCKET ", and none can be started: "
			    "%s: %s",
			    path, strerror(errno));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	/* The daemon opens its own 0, 1 and 2: these descriptors must be higher. */
	pair[0] = ownfd_raise(pair[0]);
	pair[1] = ownfd_raise(pair[1]);
	if (pair[0] < 0 || pair[1] < 0) {
		err = pair[0] < 0 ? pair[0] : pair[1];
		goto out;
	}
	/* Set first, so that every message carries its sender's credentials. */
	if (!setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		messages = memfd_create("pmcbpfd", MFD_CLOEXEC);
	if (messages >= 0)
		messages = ownfd_raise(messages);
	else
		messages = -errno;
	if (messages < 0) {
		err = messages;
		goto out;
	}
	snprintf(option, sizeof(option), "--client-fd=%d", pair[1]);
	err = spawn_launch(path, argv, pair[1], messages, why);
	if (err)
		goto out;
	*fd = pair[0];
	*log = messages;
	pair[0] = messages = -1;
out:
	if (messages >= 0)
		close(messages);
	if (pair[0] >= 0)
		close(pair[0]);
	if (pair[1] >= 0)
		close(pair[1]);
	return err;
}

void spawn_last_line(int log, char *line, size_t size)
{
	char text[4096];
	off_t end = lseek(log, 0, SEEK_END);
	off_t from = end > (off_t)sizeof(text) - 1 ? end - (off_t)sizeof(text) + 1 : 0;
	ssize_t n = end < 0 ? 0 : pread(log, text, sizeof(text) - 1, from);
	char *last;

	if (n < 0)
		n = 0;
	while (n > 0 && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	last = strrchr(text, '\n');
	snprintf(line, size, "%s", last ? last + 1 : text);
}

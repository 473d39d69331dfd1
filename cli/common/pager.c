/* SPDX-License-Identifier: BSD-2-Clause */
/* Starting a pager, and holding messages meanwhile: see pager.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "msg.h"
#include "pager.h"

static bool less_exists(void)
{
	const char *path = getenv("PATH");

	for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
		size_t len = strcspn(at, ":");
		char file[PATH_MAX];

		if (len && len + sizeof("/less") <= sizeof(file)) {
			memcpy(file, at, len);
			memcpy(file + len, "/less", sizeof("/less"));
			if (access(file, X_OK) == 0)
				return true;
		}
		at += len + (at[len] == ':');
	}
	return false;
}

int pager_start(pid_t *pid, int *fd)
{
	const char *pager = getenv("PAGER");
	sigset_t interrupt, before;
	int ends[2];

	if (!pager)
		pager = less_exists() ? "less -FRSX" : "";
	if (!*pager || strcmp(pager, "cat") == 0)
		return 0;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return fail_errno(EX_OSERR, "ERROR: no pipe to a pager");
	/* Blocked, so that a Ctrl-C between fork() and signal() cannot end this process. */
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	sigprocmask(SIG_BLOCK, &interrupt, &before);
	*pid = fork();
	if (*pid > 0)
		signal(SIGINT, SIG_IGN);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (*pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		dup2(ends[0], STDIN_FILENO);
		execl("/bin/sh", "sh", "-c", pager, NULL);
		_exit(127);
	}
	close(ends[0]);
	if (*pid < 0) {
		close(ends[1]);
		*pid = 0;
		return fail_errno(EX_OSERR, "ERROR: cannot start the pager \"%s\"", pager);
	}
	*fd = ends[1];
	return 0;
}

void pager_wait(pid_t pid)
{
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void pager_hold(struct held *held)
{
	*held = HELD_NONE;
	if (isatty(STDERR_FILENO) != 1)
		return;
	held->terminal = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	held->text = memfd_create("messages", MFD_CLOEXEC);
	if (held->terminal >= 0 && held->text >= 0 && dup2(held->text, STDERR_FILENO) >= 0)
		return;
	close(held->terminal);
	close(held->text);
	*held = HELD_NONE;
}

void pager_release(struct held *held)
{
	char part[BUFSIZ];
	ssize_t n;

	if (held->text < 0)
		return;
	fflush(stderr);
	dup2(held->terminal, STDERR_FILENO);
	lseek(held->text, 0, SEEK_SET);
	while ((n = read(held->text, part, sizeof(part))) > 0 &&
	       write(STDERR_FILENO, part, (size_t)n) == n)
		;
	close(held->terminal);
	close(held->text);
	*held = HELD_NONE;
}

bool pager_colour(int fd)
{
	const char *none = getenv("NO_COLOR"), *kind = getenv("TERM");

	return isatty(fd) == 1 && !(none && *none) && kind && strcmp(kind, "dumb") != 0;
}

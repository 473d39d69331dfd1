/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process whose exit hangs: it closes a file of a file system that does not answer.
 *
 *	hungexit DIR
 *
 * prints its pid, exits at SIGUSR1, and has exited when standard input ends.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fuzz/strangers/strangers.h"

static struct stage only;
struct stage *stage = &only;

pid_t crew_fork(void)
{
	return fork();
}

void crew_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void hang(const char *dir)
{
	char path[sizeof(stage->dir) + 16];
	sigset_t set;
	int sig;

	snprintf(path, sizeof(path), "%s/fuse/flush", dir);
	if (open(path, O_RDWR | O_CLOEXEC) < 0)
		exit(1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	_exit(sigwait(&set, &sig));
}

int main(int argc, char **argv)
{
	pid_t pid;
	char c;

	if (argc != 2)
		return 2;
	snprintf(stage->dir, sizeof(stage->dir), "%s", argv[1]);
	if (!fuse_mount()) {
		perror("hungexit");
		return 1;
	}
	pid = fork();
	if (pid == 0)
		hang(argv[1]);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	fuse_end();
	waitpid(pid, NULL, 0);
	return 0;
}

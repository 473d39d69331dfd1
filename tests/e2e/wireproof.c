/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw client's second descriptor of ATTACH, valid or not. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wireclient.h"

static struct {
	bool given;			/* the next ATTACH goes with `fd`, -1: with none */
	int fd;
} proof;

static int open_epoll(void)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(EPOLL_CLOEXEC), pair[2];

	if (fd < 0 || pipe(pair) || epoll_ctl(fd, EPOLL_CTL_ADD, pair[0], &e))
		die("epoll: %s", strerror(errno));
	return fd;
}

/* The memory of a child that is gone. */
static int open_dead(void)
{
	pid_t pid = fork();
	char path[32];
	int fd;

	if (pid == 0)
		for (;;)
			pause();
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return fd;
}

/* A path in which "heir" is replaced by its pid and "twin" by its parent's. */
static int open_path(const char *path, int flags)
{
	char text[256];
	const char *slash = strchr(path + 1, '/');
	pid_t heir, parent = 0;
	FILE *f;

	snprintf(text, sizeof(text), "%s", path);
	if (slash && (!strncmp(path, "/proc/heir", 10) || !strncmp(path, "/proc/twin", 10))) {
		close(target_fd("heir", &heir));
		snprintf(text, sizeof(text), "/proc/%d/stat", heir);
		f = fopen(text, "re");
		if (!f || fscanf(f, "%*d (%*[^)]) %*c %d", &parent) != 1)
			die("no heir");
		fclose(f);
		slash = strchr(path + 6, '/');
		snprintf(text, sizeof(text), "/proc/%d%s",
			 strncmp(path, "/proc/twin", 10) ? heir : parent, slash);
	}
	return open(text, flags);
}

/*
 * proof KIND ARG: opens the proof for the next ATTACH.  "none -", "file PATH", "opath PATH", "epoll
 * -", "dead -".
 */
void do_proof(char **arg)
{
	proof.given = true;
	if (!strcmp(arg[0], "none")) {
		proof.fd = -1;
		return;
	}
	if (!strcmp(arg[0], "epoll"))
		proof.fd = open_epoll();
	else if (!strcmp(arg[0], "dead"))
		proof.fd = open_dead();
	else
		proof.fd = open_path(arg[1], strcmp(arg[0], "opath") ? O_RDONLY : O_PATH);
	if (proof.fd < 0)
		die("proof %s %s: %s", arg[0], arg[1], strerror(errno));
}

/* As the library does: with the pid in the procfs that is mounted here. */
static int open_own(int pidfd)
{
	char path[64], line[256];
	pid_t pid = 0;
	FILE *f;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Pid:\t%d", &pid) == 1)
			break;
	if (f)
		fclose(f);
	if (pid <= 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	fd = open(path, O_RDONLY);
	if (fd < 0 && errno == EACCES) {
		snprintf(path, sizeof(path), "/proc/%d/maps", pid);
		fd = open(path, O_RDONLY);
	}
	return fd;
}

void send_proof(int pidfd)
{
	static int sent = -1;

	if (sent >= 0)
		close(sent);
	sent = proof.given ? proof.fd : pidfd >= 0 ? open_own(pidfd) : -1;
	proof.given = false;
	if (sent >= 0 && pidfd >= 0)
		c.send_fds[c.nsend++] = sent;
}

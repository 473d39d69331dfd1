/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw client's words about its identity: other credentials, namespaces, processes, threads. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "wireclient.h"

static struct {
	pid_t heir;
	int kept;			/* a pidfd, and its number when it was opened */
	pid_t kept_pid;
	int head[2];			/* a byte ends the heir's main thread */
} who = { .kept = -1 };

/* The descriptor and number of a target: a pid, "heir" or "kept". */
int target_fd(const char *name, pid_t *pid)
{
	if (!strcmp(name, "kept")) {
		*pid = who.kept_pid;
		return dup(who.kept);
	}
	*pid = strcmp(name, "heir") ? atoi(name) : who.heir;
	return *pid > 0 ? (int)syscall(SYS_pidfd_open, *pid, 0) : -1;
}

/* heir N: a child, or a child's child and so on; the last of them is "heir". */
void do_heir(char **arg)
{
	int told[2];

	if (pipe(told))
		die("pipe: %s", strerror(errno));
	for (unsigned long long n = number(arg[0]); n; n--) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork: %s", strerror(errno));
		if (pid > 0 && n == number(arg[0]))
			break;
		if (pid == 0)
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pid == 0 && n == 1) {
			who.heir = getpid();
			if (write(told[1], &who.heir, sizeof(who.heir)) < 0)
				_exit(1);
		}
		if (pid > 0 || n == 1)
			for (;;)
				pause();
	}
	if (read(told[0], &who.heir, sizeof(who.heir)) != (ssize_t)sizeof(who.heir))
		die("no heir");
	close(told[0]);
	close(told[1]);
}

/* keep PID: opens its pidfd for later, whatever this process can see then. */
void do_keep(char **arg)
{
	who.kept_pid = atoi(arg[0]);
	who.kept = (int)syscall(SYS_pidfd_open, who.kept_pid, 0);
	if (who.kept < 0)
		die("pidfd_open: %s", strerror(errno));
}

/* setid UID: also of the group, and without capabilities. */
void do_setid(char **arg)
{
	uid_t id = (uid_t)number(arg[0]);

	if (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id))
		die("setresuid: %s", strerror(errno));
}

/* A child performs the words that follow; it has a connection of its own if `own`. */
static void go_on_in_child(bool own)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid > 0) {
		waitpid(pid, &status, 0);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	if (own) {
		close(c.sock);
		make_connection();
	}
}

/* inside: in user and pid namespaces of its own, as root there. */
void do_inside(char **arg)
{
	char map[32];
	int fd;

	snprintf(map, sizeof(map), "0 %u 1", geteuid());
	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER | CLONE_NEWPID))
		die("unshare: %s", strerror(errno));
	fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, map, strlen(map)) < 0)
		die("uid_map: %s", strerror(errno));
	close(fd);
	go_on_in_child(true);
}

/* passed: a child that receives the connection in a message continues with it. */
void do_passed(char **arg)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u = { .h = { .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
		       .cmsg_len = CMSG_LEN(sizeof(int)) } };
	struct iovec iov = { "", 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	char byte;
	int pair[2];

	memcpy(CMSG_DATA(&u.h), &c.sock, sizeof(int));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || sendmsg(pair[0], &m, 0) != 1)
		die("sendmsg: %s", strerror(errno));
	go_on_in_child(false);
	close(c.sock);
	iov.iov_base = &byte;
	if (recvmsg(pair[1], &m, 0) != 1 || m.msg_controllen == 0)
		die("recvmsg: %s", strerror(errno));
	memcpy(&c.sock, CMSG_DATA(&u.h), sizeof(int));
}

static void *idle(void *tid)
{
	*(volatile pid_t *)tid = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

/* Ends the process when all writers are gone. */
static void *outlive(void *arg)
{
	struct pollfd p = { .fd = who.head[0] };

	while (poll(&p, 1, -1) < 0 || !(p.revents & POLLHUP))
		;
	_exit(0);
}

/* headless: the heir is a child with two threads, whose main one waits for `behead`. */
void do_headless(char **arg)
{
	pthread_t t;
	char byte;

	if (pipe(who.head))
		die("pipe: %s", strerror(errno));
	who.heir = fork();
	if (who.heir < 0)
		die("fork: %s", strerror(errno));
	if (who.heir)
		return;
	close(who.head[1]);
	if (pthread_create(&t, NULL, outlive, NULL) || read(who.head[0], &byte, 1) != 1)
		_exit(1);
	syscall(SYS_exit, 0);
}

/* behead: ends its main thread, while the process continues. */
void do_behead(char **arg)
{
	char path[32], state = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", who.heir);
	if (write(who.head[1], "", 1) != 1)
		die("write: %s", strerror(errno));
	while (state != 'Z') {
		FILE *f = fopen(path, "re");

		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			die("no heir");
		fclose(f);
		usleep(1000);
	}
}

/* thread: attaches to one of its own threads, by a pidfd of the thread if the kernel has these. */
void do_thread(char **arg)
{
	volatile pid_t tid = 0;
	struct wire_attach_req r = { .pmcid = c.pmcid };
	pthread_t t;
	int fd;

	if (pthread_create(&t, NULL, idle, (void *)&tid))
		die("no thread");
	while (!tid)
		usleep(1000);
	r.pid = tid;
	fd = (int)syscall(SYS_pidfd_open, r.pid, O_EXCL);	/* PIDFD_THREAD */
	if (fd >= 0)
		c.send_fds[c.nsend++] = fd;
	finish(say("thread", call(WIRE_OP_PMCATTACH, &r, sizeof(r))));
	if (fd >= 0)
		close(fd);
}

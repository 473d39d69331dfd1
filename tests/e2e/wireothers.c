/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw client's other roles: a crowd of clients, and the service manager. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sys/pmc.h>

#include "wireclient.h"

/* --- a crowd ------------------------------------------------------------------------------- */

static void member(unsigned int seed)
{
	unsigned int n;

	srandom(seed);
	make_connection();
	n = (unsigned int)random() % 24;
	if (!freopen("/dev/null", "w", stdout))
		exit(1);
	do_hello(NULL);
	for (unsigned int i = 0; i < n; i++) {
		struct wire_allocate_req r = {
			.caps = PMC_CAP_READ, .class = PMC_CLASS_SOFT, .cpu = (uint32_t)PMC_CPU_ANY,
			.event = PMC_EV_SOFT_FIRST + (uint32_t)random() % 18, .mode = PMC_MODE_TC,
			.flags = random() % 2 ? PMC_F_DESCENDANTS : 0,
		};

		if (random() % 4 == 0) {
			r.mode = PMC_MODE_SC;
			r.cpu = 0;
		}
		if (call(WIRE_OP_PMCALLOCATE, &r, sizeof(r)) == 0)
			c.pmcid = ((struct wire_allocate_rep *)payload())->pmcid;
		if (random() % 2)
			do_start(NULL);
		if (random() % 4 == 0)
			do_read(NULL);
		if (random() % 8 == 0)
			do_release(NULL);
	}
	switch (random() % 3) {
	case 0:
		raise(SIGKILL);
		break;
	case 1:				/* in the middle of a request */
		send_bytes(&(struct wire_hdr){ .magic = WIRE_MAGIC,
					       .version = WIRE_VERSION,
					       .op = WIRE_OP_GETCPUINFO },
			   sizeof(struct wire_hdr), 0);
		raise(SIGKILL);
	}
	exit(0);
}

/* crowd N SEED: processes that allocate, start, read and die at random. */
void do_crowd(char **arg)
{
	unsigned int n = (unsigned int)number(arg[0]), seed = (unsigned int)number(arg[1]), met = 0;
	int status;

	close(c.sock);
	for (unsigned int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			member(seed + i);
		if (pid < 0)
			die("fork: %s", strerror(errno));
	}
	while (wait(&status) > 0)
		met += WIFSIGNALED(status) || WEXITSTATUS(status) == 0;
	make_connection();
	printf("crowd %u of %u\n", met, n);
	fflush(stdout);
}

/* many N: so many more connections of this process; prints how many were accepted. */
void do_many(char **arg)
{
	unsigned int n = (unsigned int)number(arg[0]), welcome = 0;
	int first = c.sock;

	for (unsigned int i = 0; i < n; i++) {
		struct wire_hello_req r = { .program = "wireclient" };

		make_connection();
		if (call(WIRE_OP_HELLO, &r, sizeof(r)) == 0)
			welcome++;
		else
			break;
		close(c.fds[0]);
	}
	printf("many %u", welcome);
	finish(0);
	c.sock = first;
}

/* --- two connections ----------------------------------------------------------------------- */

/*
 * other: words go over another connection of this process, and after the next `other` back again.
 */
void do_other(char **arg)
{
	static int other = -1;
	int this = c.sock;

	if (other < 0) {
		make_connection();
		do_hello(NULL);
	} else {
		c.sock = other;
	}
	other = this;
}

/* unheard: sends the next word on another connection and prints the reply later. */
void do_unheard(char **arg)
{
	c.unheard = true;
}

void do_heard(char **arg)
{
	finish(say("heard", receive()));
}

/* --- the service manager's part ------------------------------------------------------------ */

static int bound(const char *path, int type)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type, 0);

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)))
		die("bind %s: %s", path, strerror(errno));
	return fd;
}

/* notified PATH N: prints N notifications. */
void do_notified(char **arg)
{
	int fd = bound(arg[0], SOCK_DGRAM);

	printf("listening\n");
	fflush(stdout);
	for (unsigned long long n = number(arg[1]); n; n--) {
		char text[64];
		ssize_t len = recv(fd, text, sizeof(text), 0);

		printf("notified %.*s\n", (int)len, text);
		fflush(stdout);
	}
}

/* activate PATH PROGRAM [ARGUMENT]...: runs it with a socket, as a service manager would. */
void do_activate(char **arg)
{
	int fd = bound(arg[0], SOCK_SEQPACKET);
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	if (listen(fd, 16) || dup2(fd, 3) < 0)
		die("listen: %s", strerror(errno));
	execv(arg[1], &arg[1]);
	die("%s: %s", arg[1], strerror(errno));
}

/* private PROGRAM: later words go to a daemon of our own, started as libpmc-compat does. */
void do_private(char **arg)
{
	char option[32];
	int pair[2], on = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) ||
	    setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)))
		die("socketpair: %s", strerror(errno));
	snprintf(option, sizeof(option), "--client-fd=%d", pair[1]);
	if (fork() == 0) {
		close(pair[0]);
		execl(arg[0], arg[0], "-f", option, (char *)NULL);
		_exit(127);
	}
	close(pair[1]);
	c.sock = pair[0];
}

/* leave: ends the connection, and waits for the private daemon. */
void do_leave(char **arg)
{
	int status = -1;

	close(c.sock);
	wait(&status);
	printf("leave %d\n", status);
}

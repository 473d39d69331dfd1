/* SPDX-License-Identifier: BSD-2-Clause */
/* The raw client as a process that forks or execs another program, and the daemon's reaction. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wireclient.h"

/* A forked child performs the words that follow, over the inherited connection. */
void do_fork(char **arg)
{
	pid_t pid = fork();

	if (pid > 0) {
		waitpid(pid, NULL, 0);
		exit(0);
	}
}

/* A child that only keeps the inherited connection open, and outlives us. */
void do_spawn(char **arg)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	printf("spawn %d\n", pid);
	fflush(stdout);
	exit(0);
}

/* Execs another program, which closes the connection as libpmc-compat's does. */
void do_exec(char **arg)
{
	printf("exec %d\n", getpid());
	fflush(stdout);
	fcntl(c.sock, F_SETFD, FD_CLOEXEC);
	execlp("sleep", "sleep", "60", (char *)NULL);
	die("sleep: %s", strerror(errno));
}

static void put_message(int fd, uint16_t op, const void *arg, size_t len)
{
	uint8_t data[WIRE_MAX_REQUEST];
	struct wire_hdr h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION, .op = op,
			      .seq = ++c.seq, .len = (uint32_t)len };

	memcpy(data, &h, sizeof(h));
	memcpy(data + sizeof(h), arg, len);
	if (write(fd, data, sizeof(h) + len) != (ssize_t)(sizeof(h) + len))
		die("write: %s", strerror(errno));
}

static struct wire_tunable_req tunable(const char *name, const char *value)
{
	struct wire_tunable_req r = { .what = WIRE_TUNABLE_SET };

	snprintf(r.name, sizeof(r.name), "%s", name);
	snprintf(r.value, sizeof(r.value), "%s", value);
	return r;
}

/* -: copies standard input to standard output, message by message, as cat(1) does. */
void do_copy(char **arg)
{
	uint8_t data[WIRE_MAX_REQUEST];
	ssize_t n;

	while ((n = read(STDIN_FILENO, data, sizeof(data))) > 0)
		if (write(STDOUT_FILENO, data, (size_t)n) != n)
			exit(1);
}

/* settunable NAME VALUE */
void do_settunable(char **arg)
{
	struct wire_tunable_req r = tunable(arg[0], arg[1]);

	finish(say("settunable", call(WIRE_OP_TUNABLE, &r, sizeof(r))));
}

/* listen: prints unsolicited messages, and the end. */
void do_listen(char **arg)
{
	int err;

	do {
		err = receive();
		finish(say("listen", err));
	} while (err != 1 && c.h.op != WIRE_OP_TUNABLE);
}

/*
 * bequeath PROGRAM: execs PROGRAM, a cat(1) or this one, with the connection as standard output and
 * a request to change a tunable as standard input.  A child listens meanwhile.
 */
void do_bequeath(char **arg)
{
	struct wire_tunable_req set = tunable("security.bsd.unprivileged_syspmcs", "1");
	struct wire_hello_req hello = { .program = "bequeath" };
	pid_t pid, owner = getpid();
	int in[2];

	/* Each message is one read. */
	if (pipe2(in, O_DIRECT))
		die("pipe: %s", strerror(errno));
	if (!c.alive)
		put_message(in[1], WIRE_OP_HELLO, &hello, sizeof(hello));
	put_message(in[1], WIRE_OP_TUNABLE, &set, sizeof(set));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (pid == 0) {
		printf("bequeath %d\n", owner);
		fflush(stdout);
		do_listen(NULL);
		_exit(0);
	}
	/*
	 * The program's input ends when the child has read all replies; only the program sends
	 * here.
	 */
	close(in[1]);
	if (!freopen("/dev/null", "w", stderr))
		die("/dev/null: %s", strerror(errno));
	if (dup2(in[0], STDIN_FILENO) < 0 || dup2(c.sock, STDOUT_FILENO) < 0)
		die("dup2: %s", strerror(errno));
	execl(arg[0], arg[0], "-", (char *)NULL);
	_exit(127);
}

/* again N: execs itself N times, then listens on the connection, and stays. */
void do_again(char **arg)
{
	char sock[16], left[24];
	unsigned long long n = number(arg[0]);
	const char *first = getenv("AGAIN");

	if (first && c.sock < 0) {
		c.sock = atoi(first);
	} else {
		snprintf(sock, sizeof(sock), "%d", c.sock);
		setenv("AGAIN", sock, 1);
	}
	if (n == 0) {
		printf("again\n");
		fflush(stdout);
		return;
	}
	snprintf(left, sizeof(left), "%llu", n - 1);
	execl("/proc/self/exe", "wireclient", "again", left, "listen", "hold",
	      (char *)NULL);
	die("exec: %s", strerror(errno));
}

/* mute N: so many more connections of this process, on which it sends nothing. */
void do_mute(char **arg)
{
	int first = c.sock;

	for (unsigned long long n = number(arg[0]); n; n--)
		make_connection();
	printf("mute\n");
	fflush(stdout);
	c.sock = first;
}

static struct {
	int sock[256];
	unsigned int n;
} chorus;

/* chorus N: so many more connections of this process, with HELLO … */
void do_chorus(char **arg)
{
	struct wire_hello_req r = { .program = "chorus" };
	int first = c.sock;

	while (chorus.n < number(arg[0]) && chorus.n < 256) {
		make_connection();
		if (call(WIRE_OP_HELLO, &r, sizeof(r)))
			die("only %u of them", chorus.n);
		chorus.sock[chorus.n++] = c.sock;
	}
	printf("chorus %u\n", chorus.n);
	c.sock = first;
}

/* sing: … and a request on each, whose reply is not read. */
void do_sing(char **arg)
{
	const struct wire_hdr h = { .magic = WIRE_MAGIC, .version = WIRE_VERSION,
				    .op = WIRE_OP_GETCPUINFO };
	int first = c.sock;

	for (unsigned int i = 0; i < chorus.n; i++) {
		c.sock = chorus.sock[i];
		if (send_bytes(&h, sizeof(h), 0))
			die("cannot sing");
	}
	printf("sing\n");
	c.sock = first;
}

/* named NAME: HELLO with that name. */
void do_named(char **arg)
{
	struct wire_hello_req r = { .pid = (uint32_t)getpid() };

	memcpy(r.program, arg[0], strnlen(arg[0], sizeof(r.program)));
	finish(say("named", call(WIRE_OP_HELLO, &r, sizeof(r))));
}

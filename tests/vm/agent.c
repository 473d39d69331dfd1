// SPDX-License-Identifier: BSD-2-Clause
/*
 * Process 1 of a test guest: runs commands for tests/vm/guest over a serial port.
 *
 * A frame is one line: a type byte, then the payload. Newline and escape are sent as ESC 'n' and
 * ESC 'e', so a newline always ends a frame and a host that was killed in the middle of one costs
 * the next host a single "\n".
 *
 *	host to guest				guest to host
 *	S nonce  stop what runs, answer S	S nonce
 *	X flag argv, each NUL-ended		O data	standard output
 *	  (flag 1: I frames follow)		E data	standard error
 *	I data (empty: end of input)		A	the I frame has been written
 *	K        kill the command		R wait status, decimal
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define FRAME_MAX	65536
#define CHUNK		8192
#define ARGS_MAX	1024
#define NFDS		5
#define ESC		'\033'

struct agent {
	int port;
	int sigfd;
	cpu_set_t cpus;		/* the CPUs that commands may run on */
	int in, out, err;	/* our ends of the command's pipes, -1 when closed */
	pid_t child;		/* 0: nothing runs */
	bool exited;
	int status;
	char frame[FRAME_MAX];	/* the frame being received, unescaped */
	size_t len;
	bool escaped;
	bool overlong;
	char input[FRAME_MAX];	/* data for the command's standard input, not yet written */
	size_t input_len, input_done;
};

static void write_all(int fd, const char *buf, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return;
		if (n > 0) {
			buf += n;
			len -= (size_t)n;
		}
	}
}

static void send_frame(struct agent *a, char type, const char *data, size_t len)
{
	static char line[2 * CHUNK + 2];
	size_t n = 0;

	line[n++] = type;
	for (size_t i = 0; i < len && i < CHUNK; i++) {
		if (data[i] == '\n' || data[i] == ESC) {
			line[n++] = ESC;
			line[n++] = data[i] == '\n' ? 'n' : 'e';
		} else {
			line[n++] = data[i];
		}
	}
	line[n++] = '\n';
	write_all(a->port, line, n);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Forward what the command has written; false at its end. */
static bool forward(struct agent *a, int fd, char type)
{
	char buf[CHUNK];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n > 0)
		send_frame(a, type, buf, (size_t)n);
	return n > 0;
}

/*
 * The command is over when its process is, even if something it left in the background still holds
 * the pipes: take what is in them (at most what a pipe can hold) and answer.
 */
static void finish(struct agent *a)
{
	char text[16];

	for (int i = 0; a->out >= 0 && i < 16 && forward(a, a->out, 'O'); i++)
		;
	for (int i = 0; a->err >= 0 && i < 16 && forward(a, a->err, 'E'); i++)
		;
	close_fd(&a->in);
	close_fd(&a->out);
	close_fd(&a->err);
	a->child = 0;
	a->exited = false;
	a->input_len = 0;
	snprintf(text, sizeof(text), "%d", a->status);
	send_frame(a, 'R', text, strlen(text));
}

static void reap(struct agent *a)
{
	struct signalfd_siginfo si;
	pid_t pid;
	int status;

	if (read(a->sigfd, &si, sizeof(si)) < 0)
		return;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == a->child) {
			a->exited = true;
			a->status = status;
		}
	}
}

static void run_child(struct agent *a, char **argv, int in, int out, int err)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	sched_setaffinity(0, sizeof(a->cpus), &a->cpus);
	setsid();
	dup2(in, 0);
	dup2(out, 1);
	dup2(err, 2);
	execvp(argv[0], argv);
	fprintf(stderr, "guest: %s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static int split_args(char *text, size_t len, char **argv)
{
	int argc = 0;

	for (size_t i = 0; i < len && argc < ARGS_MAX; i += strlen(text + i) + 1)
		argv[argc++] = text + i;
	argv[argc] = NULL;
	return argc;
}

/* The frame buffer is NUL-terminated by its receiver, so the last argument is a string. */
static void execute(struct agent *a, char *payload, size_t len)
{
	char *argv[ARGS_MAX + 1];
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	bool input = len > 0 && payload[0] == '1';

	a->status = 126 << 8;
	if (len < 2 || split_args(payload + 1, len - 1, argv) == 0)
		goto refuse;
	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		goto refuse;
	a->child = fork();
	if (a->child < 0)
		goto refuse;
	if (a->child == 0)
		run_child(a, argv, in[0], out[1], err[1]);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	a->in = in[1];
	a->out = out[0];
	a->err = err[0];
	fcntl(a->in, F_SETFL, O_NONBLOCK);
	fcntl(a->out, F_SETFL, O_NONBLOCK);
	fcntl(a->err, F_SETFL, O_NONBLOCK);
	if (!input)
		close_fd(&a->in);
	return;
refuse:
	a->child = 0;
	for (int i = 0; i < 2; i++) {
		close_fd(&in[i]);
		close_fd(&out[i]);
		close_fd(&err[i]);
	}
	finish(a);
}

static void take_input(struct agent *a, const char *data, size_t len)
{
	if (len == 0)
		close_fd(&a->in);
	if (a->in < 0) {
		send_frame(a, 'A', "", 0);
		return;
	}
	memcpy(a->input, data, len);
	a->input_len = len;
	a->input_done = 0;
}

static void feed_input(struct agent *a)
{
	ssize_t n = write(a->in, a->input + a->input_done, a->input_len - a->input_done);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		close_fd(&a->in);
		a->input_done = a->input_len;
	} else {
		a->input_done += (size_t)n;
	}
	if (a->input_done == a->input_len) {
		a->input_len = 0;
		send_frame(a, 'A', "", 0);
	}
}

static void kill_child(struct agent *a)
{
	if (a->child > 0)
		kill(-a->child, SIGKILL);
	if (a->child > 0)
		kill(a->child, SIGKILL);	/* not in its own session yet */
}

/* A new host: the previous host's command is dropped. */
static void sync_host(struct agent *a, const char *nonce, size_t len)
{
	kill_child(a);
	if (a->child > 0 && !a->exited)
		waitpid(a->child, &a->status, 0);
	if (a->child > 0)
		finish(a);
	send_frame(a, 'S', nonce, len);
}

static void handle_frame(struct agent *a)
{
	char *payload = a->frame + 1;
	size_t len = a->len - 1;

	switch (a->frame[0]) {
	case 'S':
		sync_host(a, payload, len);
		break;
	case 'X':
		if (a->child == 0)
			execute(a, payload, len);
		break;
	case 'I':
		take_input(a, payload, len);
		break;
	case 'K':
		kill_child(a);
		break;
	}
}

static void receive_byte(struct agent *a, char c)
{
	if (c == '\n') {
		a->frame[a->len] = '\0';
		if (a->len > 0 && !a->overlong)
			handle_frame(a);
		a->len = 0;
		a->escaped = false;
		a->overlong = false;
	} else if (a->len + 1 >= sizeof(a->frame)) {
		a->overlong = true;
	} else if (a->escaped) {
		a->frame[a->len++] = c == 'n' ? '\n' : ESC;
		a->escaped = false;
	} else if (c == ESC) {
		a->escaped = true;
	} else {
		a->frame[a->len++] = c;
	}
}

static void receive(struct agent *a)
{
	char buf[4096];
	ssize_t n = read(a->port, buf, sizeof(buf));

	for (ssize_t i = 0; i < n; i++)
		receive_byte(a, buf[i]);
}

static void serve(struct agent *a)
{
	for (;;) {
		struct pollfd p[NFDS] = {
			{ .fd = a->port, .events = POLLIN },
			{ .fd = a->sigfd, .events = POLLIN },
			{ .fd = a->out, .events = POLLIN },
			{ .fd = a->err, .events = POLLIN },
			{ .fd = a->input_len > 0 ? a->in : -1, .events = POLLOUT },
		};

		if (poll(p, NFDS, -1) < 0)
			continue;
		if (p[2].revents && !forward(a, a->out, 'O'))
			close_fd(&a->out);
		if (p[3].revents && !forward(a, a->err, 'E'))
			close_fd(&a->err);
		if (p[4].revents)
			feed_input(a);
		if (p[1].revents)
			reap(a);
		if (a->child > 0 && a->exited)
			finish(a);
		if (p[0].revents)
			receive(a);
	}
}

/*
 * Stays on the CPU that receives the port's interrupts: waking another CPU for every few bytes
 * would make transfers slow, and the other CPUs are undisturbed.
 */
static void stay_on_first_cpu(struct agent *a)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	CPU_ZERO(&a->cpus);
	if (sched_getaffinity(0, sizeof(a->cpus), &a->cpus) == 0)
		sched_setaffinity(0, sizeof(first), &first);
}

static int open_port(const char *path)
{
	struct termios t;
	int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 || tcgetattr(fd, &t) != 0)
		return -1;
	cfmakeraw(&t);
	t.c_cflag |= CLOCAL | CREAD;
	cfsetspeed(&t, B115200);
	return tcsetattr(fd, TCSANOW, &t) == 0 ? fd : -1;
}

int main(int argc, char **argv)
{
	static struct agent a = { .in = -1, .out = -1, .err = -1 };
	sigset_t set;

	if (argc != 2) {
		fprintf(stderr, "usage: agent PORT\n");
		return 2;
	}
	a.port = open_port(argv[1]);
	if (a.port < 0) {
		fprintf(stderr, "agent: %s: %s\n", argv[1], strerror(errno));
		return 1;
	}
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	a.sigfd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (a.sigfd < 0) {
		perror("agent: signalfd");
		return 1;
	}
	stay_on_first_cpu(&a);
	send_frame(&a, 'S', "ready", 5);
	serve(&a);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Logs without a reader. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strangers.h"

#define CLIENTS 30u

/* Writes records until none is accepted any more. */
static unsigned int write_records(int sock)
{
	struct wire_writelog_req w = { .userdata = 1 };
	unsigned int n = 0;

	while (n < 100000 && !link_call(sock, WIRE_OP_WRITELOG, &w, sizeof(w), -1, NULL))
		n++;
	return n;
}

static void pipe_log(void)
{
	int ends[2], sock = link_open();
	unsigned int n;

	if (pipe2(ends, O_CLOEXEC) || link_log(sock, ends[1]))
		attack_note("refused: %s", link_reason());
	n = write_records(sock);
	attack_note("%u records, then %s", n, link_reason());
	attack_hold();
}

/* Clients that have ended, and their logs' pipes: still open, and full. */
static void pipe_gone(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < CLIENTS; i++) {
		int ends[2], status = 1;
		pid_t pid;

		if (pipe2(ends, O_CLOEXEC))
			break;
		pid = crew_fork();
		if (pid == 0) {
			int sock = link_open(), err = link_log(sock, ends[1]);

			_exit(err || !write_records(sock));
		}
		waitpid(pid, &status, 0);
		n += !status;
	}
	attack_note("%u clients have had such logs", n);
	attack_hold();
}

/* Clients that have ended, and their logs to a terminal that is not read. */
static void pty_log(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < CLIENTS; i++) {
		int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1;
		pid_t pid;

		if (master >= 0 && !grantpt(master) && !unlockpt(master))
			slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (slave < 0)
			attack_skip("no pseudo-terminals: %s", strerror(errno));
		pid = crew_fork();
		if (pid == 0) {
			int sock = link_open(), err = link_log(sock, i % 2 ? master : slave);

			_exit(err || !write_records(sock));
		}
		if (pid > 0) {
			int status = 1;

			waitpid(pid, &status, 0);
			n += !status;
		}
	}
	attack_note("%u clients have had such logs", n);
	attack_hold();
}

const struct attack log_attacks[] = {
	{ .name = "pipe-log", .run = pipe_log },
	{ .name = "pipe-gone", .run = pipe_gone, .gone = true },
	{ .name = "pty-log", .run = pty_log, .gone = true },
	{ .name = NULL }
};

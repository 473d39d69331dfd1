/* SPDX-License-Identifier: BSD-2-Clause */
/* Helper processes: their answers, and the end of those that hang, die or are abandoned. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/helper.h"
#include "lingering.h"
#include "open_files.h"
#include "unit.h"

#define PATIENCE 60000			/* ms: any expected event has occurred by then */
#define MAX	 4u

/* --- jobs ------------------------------------------------------------------------------------- */

/* Three parts: the argument, nothing, and as much as a part may have. */
static int job_parts(struct helper_call *call)
{
	static uint8_t most[HELPER_MAX_PART];

	memset(most, 7, sizeof(most));
	if (helper_emit(call, call->arg, call->len, NULL, 0) ||
	    helper_emit(call, NULL, 0, NULL, 0) ||
	    helper_emit(call, most, sizeof(most), NULL, 0))
		return -EIO;
	return -ENOTTY;
}

/* Gives the descriptors back in the other order; the first is closed by the job itself. */
static int job_return(struct helper_call *call)
{
	int fds[HELPER_MAX_FDS], err;

	for (unsigned int i = 0; i < call->nfds; i++)
		fds[i] = call->fds[call->nfds - 1 - i];
	err = helper_emit(call, NULL, 0, fds, call->nfds);
	close(call->fds[0]);
	call->fds[0] = -1;
	return err;
}

static int job_pid(struct helper_call *call)
{
	pid_t pids[2] = { getpid(), getppid() };

	return helper_emit(call, pids, sizeof(pids), NULL, 0);
}

/* Answers with its pid only. */
static int job_hang(struct helper_call *call)
{
	job_pid(call);
	while (pause())
		continue;
	return 0;
}

static int job_die(struct helper_call *call)
{
	_exit(3);
}

/* The state of a process that hangs in its exit: its socket has ended, and the process exists. */
static int job_silent(struct helper_call *call)
{
	job_pid(call);
	close(call->socket);
	while (pause())
		continue;
	return 0;
}

enum { PARTS, RETURN, PID, HANG, DIE, SILENT, JOBS };
static helper_job *const jobs[JOBS] = {
	job_parts, job_return, job_pid, job_hang, job_die, job_silent,
};

/* --- a daemon --------------------------------------------------------------------------------- */

static struct helpers *helpers;
static unsigned int nready, nover;
static struct helper_part part;

static void on_ready(struct helper_task *t)
{
	nready++;
}

static void on_over(struct helper_task *t)
{
	nover++;
}

static struct helper_task task(void)
{
	return (struct helper_task){ .ready = on_ready, .over = on_over };
}

static const struct helpers_spec spec = {
	.name = "helper", .jobs = jobs, .njobs = JOBS, .max = MAX,
};

static int begin(void **state)
{
	nready = nover = 0;
	assert_int_equal(helpers_new(&helpers, &spec), 0);
	return 0;
}

static int end(void **state)
{
	helpers_free(helpers);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
	return 0;
}

/* A turn of its loop, if there is an event. */
static void turn(void)
{
	struct pollfd p = { .fd = helpers_fd(helpers), .events = POLLIN };

	assert_int_equal(poll(&p, 1, PATIENCE), 1);
	helpers_run(helpers);
	helpers_settle(helpers);
}

static bool is_ready(void)
{
	struct pollfd p = { .fd = helpers_fd(helpers), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static enum helper_state next(struct helper_task *t)
{
	enum helper_state state;

	while ((state = helper_read(helpers, t, &part)) == HELPER_LATER)
		turn();
	return state;
}

static int result(struct helper_task *t)
{
	while (next(t) == HELPER_PART)
		continue;
	return t->result;
}

static void start(struct helper_task *t, unsigned int job, unsigned int ms)
{
	assert_int_equal(helper_start(helpers, t, job, NULL, 0, NULL, 0, ms), 0);
}

/* The process of a call in progress, and its spawner's. */
static pid_t pid_of(struct helper_task *t, pid_t *spawner)
{
	pid_t pids[2];

	assert_int_equal(next(t), HELPER_PART);
	assert_int_equal(part.len, sizeof(pids));
	memcpy(pids, part.data, sizeof(pids));
	if (spawner)
		*spawner = pids[1];
	return pids[0];
}

static int pidfd_of(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	assert_true(fd >= 0);
	return fd;
}

static void await_exit(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, PATIENCE), 1);
	close(pidfd);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void test_parts(void **state)
{
	struct helper_task t = task();
	char arg[HELPER_MAX_ARG + 1] = "argument";

	assert_int_equal(helper_start(helpers, &t, PARTS, arg, sizeof(arg), NULL, 0, PATIENCE),
			 -EMSGSIZE);
	assert_int_equal(helper_start(helpers, &t, PARTS, arg, sizeof(arg) - 1, NULL, 0, PATIENCE),
			 0);
	assert_int_equal(next(&t), HELPER_PART);
	assert_int_equal(part.len, sizeof(arg) - 1);
	assert_memory_equal(part.data, arg, part.len);
	assert_int_equal(next(&t), HELPER_PART);
	assert_int_equal(part.len, 0);
	assert_int_equal(next(&t), HELPER_PART);
	assert_int_equal(part.len, HELPER_MAX_PART);
	assert_int_equal(part.data[part.len - 1], 7);
	assert_int_equal(nover, 0);
	assert_int_equal(next(&t), HELPER_END);
	assert_int_equal(t.result, -ENOTTY);
	assert_int_equal(nover, 1);
	/* It serves the next call. */
	start(&t, PID, PATIENCE);
	assert_int_equal(result(&t), 0);
}

static ino_t inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static void test_descriptors(void **state)
{
	struct helper_task t = task();
	int fds[HELPER_MAX_FDS], pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	for (unsigned int i = 0; i < HELPER_MAX_FDS; i++)
		fds[i] = pipes[0];
	fds[0] = STDIN_FILENO;
	assert_int_equal(helper_start(helpers, &t, RETURN, NULL, 0, fds, HELPER_MAX_FDS + 1, 1),
			 -EMSGSIZE);
	assert_int_equal(helper_start(helpers, &t, RETURN, NULL, 0, fds, HELPER_MAX_FDS, PATIENCE),
			 0);
	assert_int_equal(next(&t), HELPER_PART);
	assert_int_equal(part.nfds, HELPER_MAX_FDS);
	assert_int_equal(inode(part.fds[0]), inode(pipes[0]));
	assert_int_equal(inode(part.fds[HELPER_MAX_FDS - 1]), inode(STDIN_FILENO));
	for (unsigned int i = 0; i < part.nfds; i++) {
		assert_int_equal(fcntl(part.fds[i], F_GETFD), FD_CLOEXEC);
		close(part.fds[i]);
	}
	assert_int_equal(result(&t), 0);
	/* Only we have the pipe's other end: the helper has closed all of its descriptors. */
	close(pipes[0]);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(write(pipes[1], "", 1), -1);
	assert_int_equal(errno, EPIPE);
	close(pipes[1]);
}

/* A helper that does not answer is killed; its call ends then, and its charge when it has ended. */
static void test_deadline(void **state)
{
	struct helper_task t = task(), other = task();

	start(&t, HANG, 1);
	assert_int_equal(result(&t), -ETIMEDOUT);
	assert_true(nready > 0);
	while (!nover)
		turn();
	start(&other, PID, PATIENCE);
	assert_int_equal(result(&other), 0);
}

/* The end of its socket is not enough. */
static void test_over_when_gone(void **state)
{
	struct helper_task t = task();
	int gone;

	start(&t, SILENT, PATIENCE);
	gone = pidfd_of(pid_of(&t, NULL));
	assert_int_equal(next(&t), HELPER_END);
	assert_int_equal(t.result, -EIO);
	while (!nover)
		turn();
	/* By then it has exited, so that the wait is over at once. */
	assert_int_equal(poll(&(struct pollfd){ .fd = gone, .events = POLLIN }, 1, 0), 1);
	close(gone);
}

/* Without an event loop: the deadline ends the wait. */
static void test_wait(void **state)
{
	struct helper_task t = task();
	enum helper_state s;

	start(&t, HANG, 50);
	while ((s = helper_read(helpers, &t, &part)) != HELPER_END)
		if (s == HELPER_LATER)
			helper_wait(helpers, &t);
	assert_int_equal(s, HELPER_END);
	assert_int_equal(t.result, -ETIMEDOUT);
	start(&t, PID, PATIENCE);
	while ((s = helper_read(helpers, &t, &part)) == HELPER_LATER)
		helper_wait(helpers, &t);
	assert_int_equal(s, HELPER_PART);
	assert_int_equal(result(&t), 0);
}

static void test_max(void **state)
{
	struct helper_task t[MAX], more = task();

	for (unsigned int i = 0; i < MAX; i++) {
		t[i] = task();
		start(&t[i], HANG, PATIENCE);
	}
	assert_int_equal(helper_start(helpers, &more, PID, NULL, 0, NULL, 0, 1), -EAGAIN);
	helper_cancel(helpers, &t[0]);
	/* Until the kernel has released it. */
	while (!nover)
		turn();
	start(&more, PID, PATIENCE);
	assert_int_equal(result(&more), 0);
	for (unsigned int i = 1; i < MAX; i++)
		helper_cancel(helpers, &t[i]);
}

static void test_death(void **state)
{
	struct helper_task t = task();
	pid_t pid;
	int gone;

	start(&t, DIE, PATIENCE);
	assert_int_equal(result(&t), -EIO);
	while (!nover)
		turn();
	/* A helper dies while waiting for work: the next call gets another one. */
	start(&t, PID, PATIENCE);
	pid = pid_of(&t, NULL);
	assert_int_equal(result(&t), 0);
	gone = pidfd_of(pid);
	kill(pid, SIGKILL);
	await_exit(gone);
	start(&t, PID, PATIENCE);
	assert_int_not_equal(pid_of(&t, NULL), pid);
	assert_int_equal(result(&t), 0);
	/* The same, and its death is noticed. */
	start(&t, PID, PATIENCE);
	pid = pid_of(&t, NULL);
	assert_int_equal(result(&t), 0);
	gone = pidfd_of(pid);
	kill(pid, SIGKILL);
	await_exit(gone);
	turn();
	start(&t, PID, PATIENCE);
	assert_int_equal(result(&t), 0);
	/* When idle, two helpers wait for work, whatever has happened. */
	while (is_ready())
		turn();
	helpers_settle(helpers);
	assert_int_equal(helpers_alive(helpers), 2);
}

static void test_leave(void **state)
{
	struct helper_task t = task();

	start(&t, PARTS, PATIENCE);
	assert_int_equal(next(&t), HELPER_PART);
	helper_leave(&t);
	nready = 0;
	while (!nover)
		turn();
	assert_int_equal(nready, 0);
	/* A job without end has its deadline nevertheless. */
	start(&t, HANG, 50);
	helper_leave(&t);
	while (nover < 2)
		turn();
}

/* --- what is closed elsewhere ----------------------------------------------------------------- */

static void settle_closing(void)
{
	helpers_settle(helpers);
	while (helpers_waiting(helpers) || helpers_alive(helpers) > 2)
		turn();
}

static void test_dispose_many(void **state)
{
	int fds[2 * HELPER_MAX_FDS + 11], pipes[2];
	unsigned int before = open_files();
	char byte;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	for (unsigned int i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		fds[i] = fcntl(pipes[1], F_DUPFD_CLOEXEC, 0);
	helper_dispose(helpers, fds, sizeof(fds) / sizeof(fds[0]));
	helper_dispose(helpers, &pipes[1], 1);
	helper_dispose(helpers, &(int){ -1 }, 1);
	assert_int_equal(helpers_waiting(helpers), sizeof(fds) / sizeof(fds[0]) + 1);
	settle_closing();
	assert_int_equal(read(pipes[0], &byte, 1), 0);
	close(pipes[0]);
	while (open_files() != before + 2 * helpers_alive(helpers))
		turn();
}

/* Times of slow closes do not add up, and a caller that waits for them runs no task. */
static void test_dispose_shared(void **state)
{
	for (unsigned int i = 0; i < MAX - 1; i++)
		helper_dispose(helpers, (int[]){ open("/dev/null", O_RDONLY | O_CLOEXEC) }, 1);
	helpers_settle(helpers);
	assert_int_equal(helpers_waiting(helpers), 0);
	assert_int_equal(helpers_alive(helpers), MAX - 1);
	while (helpers_alive(helpers) > 2)
		helpers_reap(helpers);
}

/* Everything that was sent can be read, and then the end. */
static void await_end(int peer)
{
	char data[4096];
	ssize_t n;

	while ((n = read(peer, data, sizeof(data))) > 0)
		continue;
	assert_int_equal(n, 0);
	close(peer);
}

/*
 * Our own close() is never the last, however fast the helper is; the rounds make that race likely.
 */
static void test_dispose_lingering(void **state)
{
	int peers[100];

	for (unsigned int i = 0; i < 100; i++) {
		int fd = lingering(&peers[i]);

		helper_dispose(helpers, &fd, 1);
		helpers_settle(helpers);
		while (helpers_waiting(helpers))
			turn();
	}
	for (unsigned int i = 0; i < 100; i++)
		await_end(peers[i]);
}

static void send_fd(int socket, int fd)
{
	assert_int_equal(message_send(socket, "", 1, NULL, 0, &fd, 1, 0), 0);
}

/* A connection without unread data is closed here, any other by a helper. */
static void test_hang_up(void **state)
{
	int pair[2], peer, fd = lingering(&peer);
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	helper_hang_up(helpers, pair[0]);
	assert_int_equal(helpers_waiting(helpers), 0);
	assert_int_equal(fcntl(pair[0], F_GETFD), -1);
	assert_int_equal(recv(pair[1], &byte, 1, 0), 0);
	close(pair[1]);
	/* After an empty message, which looks like the end. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[1], "", 0, 0), 0);
	send_fd(pair[1], fd);
	close(fd);
	helper_hang_up(helpers, pair[0]);
	assert_int_equal(helpers_waiting(helpers), 1);
	settle_closing();
	await_end(peer);
	close(pair[1]);
}

static void test_carries(void **state)
{
	int pair[2], fds[MESSAGE_MAX_FDS];
	unsigned int before, nfds;
	char data[8];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	before = open_files();
	for (int creds = 0; creds < 2; creds++) {
		assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &creds,
					    sizeof(creds)), 0);
		assert_int_equal(message_carries(pair[0], creds), -EAGAIN);
		assert_int_equal(send(pair[1], "plain", 5, 0), 5);
		assert_int_equal(message_carries(pair[0], creds), 0);
		assert_int_equal(recv(pair[0], data, sizeof(data), 0), 5);
		send_fd(pair[1], pair[1]);
		assert_int_equal(message_carries(pair[0], creds), 1);
		assert_int_equal(open_files(), before);
		assert_int_equal(message_receive(pair[0], data, 1, NULL, 0, fds, &nfds, 0), 1);
		assert_int_equal(nfds, 1);
		close(fds[0]);
	}
	shutdown(pair[0], SHUT_RDWR);
	assert_false(message_unread(pair[0]));
	assert_int_equal(message_carries(pair[0], false), 0);
	close(pair[0]);
	close(pair[1]);
}

/* --- ends ------------------------------------------------------------------------------------- */

/* Helpers at work and at rest end with the daemon, even if it is killed. */
static void test_daemon_dies(void **state)
{
	struct helper_task idle = task(), hangs = task();
	pid_t pids[3], daemon;
	int gone[3], pipes[2];

	assert_int_equal(pipe(pipes), 0);
	daemon = fork();
	if (daemon == 0) {
		assert_int_equal(helpers_new(&helpers, &spec), 0);
		start(&idle, PID, PATIENCE);
		pids[0] = pid_of(&idle, &pids[2]);
		start(&hangs, HANG, PATIENCE);
		pids[1] = pid_of(&hangs, NULL);
		(void)!write(pipes[1], pids, sizeof(pids));
		for (;;)
			pause();
	}
	assert_int_equal(read(pipes[0], pids, sizeof(pids)), sizeof(pids));
	for (unsigned int i = 0; i < 3; i++) {
		gone[i] = pidfd_of(pids[i]);
		/* A service manager signals the whole group. */
		kill(pids[i], SIGTERM);
	}
	kill(daemon, SIGKILL);
	waitpid(daemon, NULL, 0);
	for (unsigned int i = 0; i < 3; i++)
		await_exit(gone[i]);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_spawner_dies(void **state)
{
	struct helper_task t = task();
	pid_t spawner;

	start(&t, HANG, PATIENCE);
	(void)pid_of(&t, &spawner);
	assert_false(helpers_lost(helpers));
	kill(spawner, SIGKILL);
	assert_int_equal(result(&t), -EIO);
	while (!helpers_lost(helpers) || helpers_alive(helpers))
		turn();
	assert_int_equal(helper_start(helpers, &t, PID, NULL, 0, NULL, 0, PATIENCE), -EIO);
	/* It is reported once. */
	assert_false(is_ready());
}

/* It keeps none of the daemon's descriptors, whose end others may wait for. */
static void test_detached(void **state)
{
	struct helper_task t = task();
	char path[64], name[64];
	pid_t pids[2];

	start(&t, PID, PATIENCE);
	pids[0] = pid_of(&t, &pids[1]);
	for (unsigned int i = 0; i < 4; i++) {
		ssize_t n;

		assert_int_equal(getsid(pids[i / 2]), pids[1]);
		snprintf(path, sizeof(path), "/proc/%d/fd/%u", pids[i / 2], i % 2);
		n = readlink(path, name, sizeof(name) - 1);
		name[n > 0 ? n : 0] = '\0';
		assert_string_equal(name, "/dev/null");
	}
	assert_int_equal(result(&t), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_parts), TEST(test_descriptors), TEST(test_deadline),
		TEST(test_over_when_gone), TEST(test_wait), TEST(test_max), TEST(test_death),
		TEST(test_leave), TEST(test_dispose_many), TEST(test_dispose_lingering),
		TEST(test_dispose_shared), TEST(test_hang_up), cmocka_unit_test(test_carries),
		cmocka_unit_test(test_daemon_dies), TEST(test_spawner_dies), TEST(test_detached),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

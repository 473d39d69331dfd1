/* SPDX-License-Identifier: BSD-2-Clause */
/* Clients' messages: with and without descriptors, and which of those are passed on. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/helper_impl.h"
#include "loader/server/receive.h"
#include "open_files.h"
#include "unit.h"

static int client, connection, daemon_end, helper_end;
static struct received in;
static int passed[MESSAGE_MAX_FDS];
static unsigned int npassed;

static int begin(void **state)
{
	int pair[2], on = 1;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	client = pair[0];
	connection = pair[1];
	assert_int_equal(setsockopt(connection, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	daemon_end = pair[0];
	helper_end = pair[1];
	return 0;
}

static int end(void **state)
{
	close(client);
	close(connection);
	close(daemon_end);
	close(helper_end);
	return 0;
}

static void send_op(uint16_t op, size_t len, const int *fds, unsigned int nfds)
{
	static struct {
		struct wire_hdr h;
		uint8_t rest[WIRE_MAX_REQUEST + 1];
	} m;

	m.h = (struct wire_hdr){ .op = op, .seq = 7 };
	assert_int_equal(message_send(client, &m, len, NULL, 0, fds, nfds, 0), 0);
}

/* The helper's handling of the message; its descriptors are in `passed`. */
static int receive(void)
{
	int fds[1] = { connection };
	struct helper_call call = { .fds = fds, .nfds = 1, .socket = helper_end };
	struct helper_answer head;
	int err = receive_job(&call);

	npassed = 0;
	if (!err)
		assert_int_equal(message_receive(daemon_end, &head, sizeof(head), &in, sizeof(in),
						 passed, &npassed, MSG_DONTWAIT),
				 sizeof(head) + sizeof(in));
	return err;
}

static ino_t inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static void test_plain(void **state)
{
	unsigned int before = open_files();

	assert_int_equal(receive_peek(connection), -EAGAIN);
	assert_int_equal(receive_plain(connection, &in), 0);
	send_op(WIRE_OP_GETCPUINFO, sizeof(struct wire_hdr) + 5, NULL, 0);
	assert_int_equal(receive_peek(connection), 0);
	assert_int_equal(receive_plain(connection, &in), 1);
	assert_int_equal(in.len, sizeof(struct wire_hdr) + 5);
	assert_int_equal(in.nfds, 0);
	assert_false(in.truncated);
	assert_true(in.has_sender);
	assert_int_equal(in.sender.pid, getpid());
	/* Empty, as long as there is room for, longer. */
	send_op(0, 0, NULL, 0);
	assert_int_equal(receive_peek(connection), 0);
	assert_int_equal(receive_plain(connection, &in), 1);
	assert_int_equal(in.len, 0);
	send_op(0, WIRE_MAX_REQUEST, NULL, 0);
	assert_int_equal(receive_plain(connection, &in), 1);
	assert_int_equal(in.len, WIRE_MAX_REQUEST);
	assert_false(in.truncated);
	send_op(0, WIRE_MAX_REQUEST + 1, NULL, 0);
	assert_int_equal(receive_plain(connection, &in), 1);
	assert_true(in.truncated);
	/* Should one carry a descriptor nevertheless, it does not enter the table. */
	send_op(0, 1, &client, 1);
	assert_int_equal(receive_plain(connection, &in), 1);
	assert_true(in.truncated);
	assert_int_equal(open_files(), before);
	shutdown(client, SHUT_WR);
	assert_int_equal(receive_peek(connection), 0);
	assert_int_equal(receive_plain(connection, &in), -ECONNRESET);
}

/* One descriptor with an operation: 0 if it is passed on, or the error. */
static int judged(uint16_t op, int fd)
{
	unsigned int before = open_files();
	int result;

	send_op(op, sizeof(struct wire_hdr), &fd, 1);
	assert_int_equal(receive_peek(connection), 1);
	assert_int_equal(receive(), 0);
	assert_int_equal(in.nfds, 1);
	assert_int_equal(in.len, sizeof(struct wire_hdr));
	assert_int_equal(in.sender.pid, getpid());
	assert_false(in.truncated);
	result = in.passed[0];
	assert_int_equal(npassed, !result);
	assert_int_equal(!in.why.text[0], !result);
	if (npassed) {
		assert_int_equal(inode(passed[0]), inode(fd));
		assert_int_equal(fcntl(passed[0], F_GETFD), FD_CLOEXEC);
		close(passed[0]);
	}
	assert_int_equal(open_files(), before);
	return result;
}

static void test_kinds(void **state)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0), pipes[2];
	int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int others[] = { epoll_create1(EPOLL_CLOEXEC), eventfd(0, EFD_CLOEXEC), null, client };

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	for (int i = 0; i < 2; i++) {
		uint16_t op = i ? WIRE_OP_PMCDETACH : WIRE_OP_PMCATTACH;

		assert_int_equal(judged(op, pidfd), 0);
		assert_int_equal(judged(op, mem), 0);
		assert_false(in.slow_close);
		for (unsigned int k = 0; k < sizeof(others) / sizeof(others[0]); k++)
			assert_int_equal(judged(op, others[k]), -EFAULT);
	}
	/* logfile_check() decides on logs; their descriptors are closed elsewhere. */
	assert_int_equal(judged(WIRE_OP_CONFIGURELOG, pipes[1]), 0);
	assert_true(in.slow_close);
	assert_int_equal(judged(WIRE_OP_CONFIGURELOG, null), 0);
	assert_int_not_equal(judged(WIRE_OP_CONFIGURELOG, pipes[0]), 0);
	assert_int_not_equal(judged(WIRE_OP_CONFIGURELOG, others[0]), 0);
	assert_int_equal(judged(WIRE_OP_GETCPUINFO, pidfd), -EPROTO);
	assert_int_equal(judged(9999, pidfd), -EPROTO);
	close(pidfd);
	close(mem);
	close(null);
	close(others[0]);
	close(others[1]);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_two(void **state)
{
	int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int fds[] = { client, pidfd };

	send_op(WIRE_OP_PMCATTACH, sizeof(struct wire_hdr), fds, 2);
	assert_int_equal(receive(), 0);
	assert_int_equal(in.nfds, 2);
	assert_int_equal(in.passed[0], -EFAULT);
	assert_int_equal(in.passed[1], 0);
	assert_int_equal(npassed, 1);
	assert_int_equal(inode(passed[0]), inode(pidfd));
	assert_true(in.why.text[0]);
	close(passed[0]);
	close(pidfd);
}

/* More than any operation takes: none is passed on, and none stays in the helper. */
static void test_too_many(void **state)
{
	unsigned int before = open_files();
	int fds[MESSAGE_MAX_FDS];

	for (unsigned int i = 0; i < MESSAGE_MAX_FDS; i++)
		fds[i] = client;
	for (unsigned int n = RECEIVE_FDS + 1; n <= MESSAGE_MAX_FDS; n += MESSAGE_MAX_FDS - 3) {
		send_op(WIRE_OP_PMCATTACH, sizeof(struct wire_hdr), fds, n);
		assert_int_equal(receive(), 0);
		assert_int_equal(in.nfds, n);
		assert_int_equal(npassed, 0);
		assert_int_equal(in.passed[0], -EPROTO);
		assert_int_equal(open_files(), before);
	}
}

/* Cut, shorter than a header, and missing. */
static void test_lengths(void **state)
{
	int fds[] = { client };

	send_op(WIRE_OP_PMCATTACH, WIRE_MAX_REQUEST + 1, fds, 1);
	assert_int_equal(receive(), 0);
	assert_true(in.truncated);
	assert_int_equal(in.len, WIRE_MAX_REQUEST);
	assert_int_equal(npassed, 0);
	send_op(WIRE_OP_PMCATTACH, sizeof(struct wire_hdr) - 1, fds, 1);
	assert_int_equal(receive(), 0);
	assert_int_equal(in.passed[0], -EPROTO);
	assert_int_equal(npassed, 0);
	assert_int_equal(receive(), -EAGAIN);
	close(client);
	client = -1;
	assert_int_equal(receive(), -ECONNRESET);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_plain), TEST(test_kinds), TEST(test_two), TEST(test_too_many),
		TEST(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

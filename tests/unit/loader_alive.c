/* SPDX-License-Identifier: BSD-2-Clause */
/* The page that says the daemon lives: read-only for others, marked by the kernel at any death. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/daemon/heartbeat.h"
#include "unit.h"

#define SIZE sizeof(struct wire_alive)

static void send_fd(int sock, int fd)
{
	union {
		struct cmsghdr c;
		char room[CMSG_SPACE(sizeof(int))];
	} u = { 0 };
	struct iovec iov = { "x", 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u,
			    .msg_controllen = sizeof(u) };

	u.c.cmsg_level = SOL_SOCKET;
	u.c.cmsg_type = SCM_RIGHTS;
	u.c.cmsg_len = CMSG_LEN(sizeof(int));
	*(int *)CMSG_DATA(&u.c) = fd;
	sendmsg(sock, &m, 0);
}

static int receive_fd(int sock)
{
	union {
		struct cmsghdr c;
		char room[CMSG_SPACE(sizeof(int))];
	} u;
	char byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u,
			    .msg_controllen = sizeof(u) };
	struct cmsghdr *c;

	assert_int_equal(recvmsg(sock, &m, 0), 1);
	c = CMSG_FIRSTHDR(&m);
	return c ? *(int *)CMSG_DATA(c) : -1;
}

static void test_sigkill_marks_the_page(void **state)
{
	const volatile struct wire_alive *page;
	int pair[2], fd;
	pid_t child;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	child = fork();
	if (child == 0) {
		struct heartbeat *a;
		struct reason why;

		if (heartbeat_new(&a, &why))
			_exit(1);
		send_fd(pair[1], heartbeat_fd(a));
		for (;;)
			pause();
	}
	fd = receive_fd(pair[0]);
	page = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(page->magic, WIRE_MAGIC);
	assert_int_equal(page->futex, child);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(page->futex & FUTEX_OWNER_DIED, FUTEX_OWNER_DIED);
	munmap((void *)page, SIZE);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

static void test_nobody_else_can_write(void **state)
{
	struct heartbeat *a;
	struct reason why;
	char path[64];
	int fd;

	assert_int_equal(heartbeat_new(&a, &why), 0);
	assert_int_equal(write(heartbeat_fd(a), "x", 1), -1);
	assert_ptr_equal(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, heartbeat_fd(a), 0),
			 MAP_FAILED);
	assert_int_equal(ftruncate(heartbeat_fd(a), 0), -1);
	/* A descriptor opened anew is stopped by the seal. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", heartbeat_fd(a));
	fd = open(path, O_RDWR);
	if (fd >= 0) {
		assert_int_equal(write(fd, "x", 1), -1);
		assert_int_equal(errno, EPERM);
		assert_ptr_equal(mmap(NULL, SIZE, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
		assert_int_equal(ftruncate(fd, 0), -1);
		close(fd);
	}
	heartbeat_free(a);
}

static void test_orderly_end_marks_the_page(void **state)
{
	const volatile struct wire_alive *page;
	struct heartbeat *a;
	struct reason why;

	assert_int_equal(heartbeat_new(&a, &why), 0);
	page = mmap(NULL, SIZE, PROT_READ, MAP_SHARED, heartbeat_fd(a), 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(page->futex & FUTEX_OWNER_DIED, 0);
	heartbeat_free(a);
	assert_int_equal(page->futex & FUTEX_OWNER_DIED, FUTEX_OWNER_DIED);
	munmap((void *)page, SIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sigkill_marks_the_page),
		cmocka_unit_test(test_nobody_else_can_write),
		cmocka_unit_test(test_orderly_end_marks_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

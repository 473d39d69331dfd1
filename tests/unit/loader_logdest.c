/* SPDX-License-Identifier: BSD-2-Clause */
/* Which sockets logs may be written to; files and devices are in tests/e2e/log.bats (C-8). */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loader/log/logdest.h"
#include "unit.h"

static struct reason why;

/* Closes the descriptor. */
static void accepted(int fd, enum logdest_kind kind)
{
	struct logdest dest;

	assert_true(fd >= 0);
	assert_int_equal(logdest_check(fd, &dest, &why), 0);
	assert_int_equal(dest.kind, kind);
	close(fd);
}

static void refused(int fd, int err, const char *reason)
{
	struct logdest dest;

	assert_true(fd >= 0);
	assert_int_equal(logdest_check(fd, &dest, &why), err);
	assert_contains(why.text, reason);
	close(fd);
}

static int one_of_pair(int type)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, type, 0, fds), 0);
	close(fds[0]);
	return fds[1];
}

static void test_sockets(void **state)
{
	int fd;

	accepted(one_of_pair(SOCK_STREAM), LOGDEST_UNIX);
	accepted(one_of_pair(SOCK_SEQPACKET), LOGDEST_UNIX);
	accepted(socket(AF_INET, SOCK_STREAM, 0), LOGDEST_TCP);
	fd = socket(AF_INET6, SOCK_STREAM, 0);
	if (fd >= 0)			/* a kernel without IPv6 */
		accepted(fd, LOGDEST_TCP);
	refused(one_of_pair(SOCK_DGRAM), -EBADF, "family 1 and type 2");
	refused(socket(AF_INET, SOCK_DGRAM, 0), -EBADF, "family 2 and type 2");
	refused(socket(AF_NETLINK, SOCK_RAW, 0), -EBADF, "family 16 and type 3");
	fd = socket(AF_VSOCK, SOCK_STREAM, 0);
	if (fd >= 0)			/* a kernel without this family */
		refused(fd, -EBADF, "family 40 and type 1");
}

/* Neither the kernel's orders nor known to be local. */
static void test_unknown(void **state)
{
	int fd = memfd_create("log", MFD_CLOEXEC | MFD_HUGETLB);

	if (fd < 0)			/* a kernel without it */
		skip();
	refused(fd, -EXDEV, "file system of type 0x958458f6");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sockets), cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

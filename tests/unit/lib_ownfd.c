/* SPDX-License-Identifier: BSD-2-Clause */
/* The library's descriptors in a program that uses, closes and reuses any number. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fake_daemon.h"
#include "lib/pmc/pmc.h"
#include "unit.h"

static void allocate(void)
{
	pmc_id_t id;

	assert_int_equal(pmc_init(), 0);
	assert_int_equal(pmc_allocate("PAGE_FAULT.ALL", PMC_MODE_TC, 0, PMC_CPU_ANY, &id, 0), 0);
}

/* A memory file with the bytes of a count, which must not be taken for one. */
static int file_with_count(void)
{
	uint64_t count = 77;
	int fd = memfd_create("program's", MFD_CLOEXEC);

	assert_int_equal(write(fd, &count, sizeof(count)), sizeof(count));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void start(struct fake *f)
{
	f->start_fd = file_with_count();
	f->start_fds = 1;
	f->page->pmc[0].how = WIRE_HOW_EVENTS;
	f->page->pmc[0].generation = 1;
	assert_int_equal(pmc_start(FAKE_ID), 0);
	close(f->start_fd);
}

/* --- numbers --------------------------------------------------------------------------------- */

/* With the standard descriptors free, the library keeps none of them. */
static void test_standard_free(void **state)
{
	struct fake *f = *state;
	int saved[3];

	for (int fd = 0; fd < 3; fd++) {
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 100);
		close(fd);
	}
	allocate();
	start(f);
	for (int fd = 0; fd < 3; fd++) {
		dup2(saved[fd], fd);
		close(saved[fd]);
	}
	assert_true(pmc_lib.socket.fd > 100);
	assert_true(pmc_lib.reads.current->table.slots[0].events[0].own.fd > 100);
	assert_int_equal(fcntl(pmc_lib.socket.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pmc_stop(FAKE_ID), 0);
}

/* The highest numbers that the limit allows, or a lower one that is free. */
static void test_low_limit(void **state)
{
	struct rlimit old, low;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = 40;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	fd = ownfd_raise(open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_in_range(fd, 30, 39);
	close(fd);
	low.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	close(0);
	fd = ownfd_raise(open("/dev/null", O_RDONLY | O_CLOEXEC));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(fd, -EINVAL);
	/* A descriptor that cannot be moved is closed all the same. */
	assert_int_equal(open("/dev/null", O_RDONLY), 0);
}

/* --- identities ------------------------------------------------------------------------------ */

static int perf_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .exclude_kernel = 1,
		.config = PERF_COUNT_SW_TASK_CLOCK,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void expect_recognised(int ours, int other, enum ownfd_kind kind)
{
	struct ownfd own = ownfd_identify(ours);
	int moved = fcntl(ours, F_DUPFD_CLOEXEC, 0);

	assert_int_equal(own.kind, kind);
	assert_true(ownfd_valid(&own));
	close(ours);
	assert_false(ownfd_valid(&own));
	assert_int_equal(dup2(other, ours), ours);
	assert_false(ownfd_valid(&own));
	ownfd_close(&own);
	assert_int_not_equal(fcntl(ours, F_GETFD), -1);	/* it is not ours to close */
	close(ours);
	own = ownfd_identify(moved);
	ownfd_close(&own);
	assert_int_equal(fcntl(moved, F_GETFD), -1);
	assert_int_equal(own.fd, -1);
	close(other);
}

static void test_identities(void **state)
{
	struct ownfd none = ownfd_identify(-1);
	int pair[2], event = perf_event();

	assert_false(ownfd_valid(&none));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	expect_recognised(pair[0], pair[1], OWNFD_SOCKET);
	expect_recognised(file_with_count(), file_with_count(), OWNFD_FILE);
	if (event >= 0)
		expect_recognised(event, perf_event(), OWNFD_EVENT);
}

/* --- closefrom(3), and what follows ---------------------------------------------------------- */

static void expect_closed(struct fake *f)
{
	pmc_value_t v;

	expect_errno(pmc_write(FAKE_ID, 1), EBADF);
	assert_contains(pmc_errstr(), "closed the library's connection");
	assert_contains(pmc_errstr(), "pmc_init() again");
	expect_errno(pmc_read(FAKE_ID, &v), EBADF);
	assert_int_equal(f->requests[WIRE_OP_PMCRW], 0);
}

static void expect_new_connection(struct fake *f, int number)
{
	assert_int_equal(pmc_init(), 0);
	assert_int_equal(f->connections, 2);
	assert_int_not_equal(pmc_lib.socket.fd, number);
	assert_int_equal(pmc_stop(FAKE_ID), 0);
}

static void test_closed(void **state)
{
	struct fake *f = *state;

	allocate();
	close(pmc_lib.socket.fd);
	expect_closed(f);
	expect_new_connection(f, -1);
}

/* A file of the program's has the number: nothing is written to it. */
static void test_number_is_a_file(void **state)
{
	struct fake *f = *state;
	int file = memfd_create("program's", MFD_CLOEXEC), number;
	struct stat st;

	allocate();
	number = pmc_lib.socket.fd;
	assert_int_equal(dup2(file, number), number);
	expect_closed(f);
	expect_new_connection(f, number);
	assert_int_equal(fstat(number, &st), 0);
	assert_int_equal(st.st_size, 0);
	close(number);
	close(file);
}

/* A connection to another server: nothing is sent there, and pmc_init() detects it. */
static void test_number_is_a_socket(void **state)
{
	struct fake *f = *state;
	int pair[2], number;
	char byte;

	allocate();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	number = pmc_lib.socket.fd;
	assert_int_equal(dup2(pair[1], number), number);
	expect_new_connection(f, number);
	assert_int_equal(recv(pair[0], &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(pair[0]);
	close(pair[1]);
	close(number);
}

/* An event's number: no byte of the file there is read, or used as a count. */
static void test_number_of_event(void **state)
{
	struct fake *f = *state;
	int file = file_with_count(), number;
	pmc_value_t v;

	allocate();
	start(f);
	f->value = 5;
	number = pmc_lib.reads.current->table.slots[0].events[0].own.fd;
	assert_int_equal(dup2(file, number), number);
	assert_int_equal(pmc_read(FAKE_ID, &v), 0);
	assert_true(v == 5);			/* the daemon's answer */
	assert_int_equal(lseek(file, 0, SEEK_CUR), 0);
	assert_int_equal(pmc_release(FAKE_ID), 0);
	assert_int_not_equal(fcntl(number, F_GETFD), -1);
	close(number);
	close(file);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup_unconnected, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_identities), cmocka_unit_test(test_low_limit),
		TEST(test_standard_free), TEST(test_closed), TEST(test_number_is_a_file),
		TEST(test_number_is_a_socket), TEST(test_number_of_event),
	};

	alarm(600);
	return cmocka_run_group_tests_name("lib_ownfd", tests, NULL, NULL);
}

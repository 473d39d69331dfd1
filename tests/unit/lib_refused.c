/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that the daemon refuses, at once or later: the library returns its reason. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "fake_daemon.h"
#include "lib/pmc/pmc.h"
#include "open_files.h"
#include "unit.h"

/* Calls connect(2), with the reply that the library is to find when it returns. */
static bool hung_up_first;
int __real_connect(int fd, const struct sockaddr *sa, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len);

int __wrap_connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	struct pollfd p = { .fd = fd };
	int err = __real_connect(fd, sa, len);

	if (!err && hung_up_first)
		assert_int_equal(poll(&p, 1, -1), 1);
	return err;
}

static void test_connection_refused(void **state)
{
	struct fake *f = *state;
	unsigned int before;

	f->error = EAGAIN;
	f->reason = "uid 7 has all connections";
	before = open_files();
	for (unsigned int i = 0; i < 4; i++) {
		hung_up_first = i % 2;
		f->fault = hung_up_first ? FAKE_REFUSE_AT_ONCE : FAKE_REFUSE_UNREAD;
		expect_errno(pmc_init(), EAGAIN);
		assert_string_equal(pmc_errstr(), "uid 7 has all connections");
	}
	hung_up_first = false;
	assert_int_equal(open_files(), before);
	assert_int_equal(f->requests[WIRE_OP_HELLO], 0);
	f->fault = FAKE_NO_FAULT;
	assert_int_equal(pmc_init(), 0);
}

/* A request that the daemon could not receive ends the connection, with the reason. */
static void test_request_not_received(void **state)
{
	struct fake *f = *state;
	pmc_id_t id;

	assert_int_equal(pmc_init(), 0);
	f->fault_op = WIRE_OP_PMCALLOCATE;
	f->fault = FAKE_REFUSE_AND_END;
	f->error = EAGAIN;
	f->reason = "uid 7 has 16 requests under way";
	expect_errno(pmc_allocate("tsc", PMC_MODE_SC, 0, 0, &id, 0), EAGAIN);
	assert_string_equal(pmc_errstr(), "uid 7 has 16 requests under way");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fake_setup_unconnected, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_connection_refused), TEST(test_request_not_received),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

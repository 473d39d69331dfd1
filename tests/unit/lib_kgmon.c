/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_kgmon() against a server that may answer anything. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/pmc/pmc.h"
#include "fake_daemon.h"
#include "unit.h"

static void test_info(void **state)
{
	struct fake *f = *state;
	struct pmc_kgmon info;

	assert_int_equal(pmc_kgmon(PMC_KGMON_INFO, &info), 0);
	assert_int_equal(f->kgmon.what, WIRE_KGMON_INFO);
	assert_int_equal(info.pk_on, 1);
	assert_int_equal(info.pk_source, PMC_KGMON_PMCS);
	assert_int_equal(info.pk_rate, 3);
	assert_int_equal(info.pk_hits, 4);
	assert_true(info.pk_period == 1ull << 41);
	assert_int_equal(info.pk_samples, 6);
	assert_int_equal(info.pk_user, 7);
	assert_int_equal(info.pk_lost, 8);
	assert_int_equal(strlen(info.pk_event), sizeof(info.pk_event) - 1);
}

static void test_operations(void **state)
{
	struct fake *f = *state;

	assert_int_equal(pmc_kgmon(PMC_KGMON_STATE, NULL), 0);
	assert_int_equal(f->kgmon.what, WIRE_KGMON_STATE);
	assert_int_equal(pmc_kgmon(PMC_KGMON_START, NULL), 0);
	assert_int_equal(f->kgmon.what, WIRE_KGMON_START);
	assert_int_equal(pmc_kgmon(PMC_KGMON_STOP, NULL), 0);
	assert_int_equal(f->kgmon.what, WIRE_KGMON_STOP);
	assert_int_equal(pmc_kgmon(PMC_KGMON_RESET, NULL), 0);
	assert_int_equal(f->kgmon.what, WIRE_KGMON_RESET);
	expect_errno(pmc_kgmon((enum pmc_kgmon_op)6, NULL), EINVAL);
	expect_errno(pmc_kgmon((enum pmc_kgmon_op)-1, NULL), EINVAL);
	assert_contains(pmc_errstr(), "no operation -1");
}

/* The caller owns the descriptor; any other number of them cannot come from this daemon. */
static void test_dump(void **state)
{
	struct fake *f = *state;
	int fd, next;

	f->kgmon_fds = 1;
	fd = pmc_kgmon(PMC_KGMON_DUMP, NULL);
	assert_true(fd >= 0);
	assert_int_equal(f->kgmon.what, WIRE_KGMON_DUMP);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	expect_errno(pmc_kgmon(PMC_KGMON_STOP, NULL), EPROTO);
	f->kgmon_fds = 2;
	expect_errno(pmc_kgmon(PMC_KGMON_DUMP, NULL), EPROTO);
	f->kgmon_fds = 0;
	expect_errno(pmc_kgmon(PMC_KGMON_DUMP, NULL), EPROTO);
	assert_contains(pmc_errstr(), "one release");
	/* None of them stays behind. */
	next = dup(0);
	assert_int_equal(next, fd);
	close(next);
}

static void test_refused(void **state)
{
	struct fake *f = *state;
	struct pmc_kgmon info;

	f->fault = FAKE_REFUSE;
	f->fault_op = WIRE_OP_KGMON;
	f->error = EBUSY;
	f->reason = "the kernel profile holds samples of others";
	expect_errno(pmc_kgmon(PMC_KGMON_START, NULL), EBUSY);
	assert_string_equal(pmc_errstr(), f->reason);
	f->fault = FAKE_SHORT_PAYLOAD;
	expect_errno(pmc_kgmon(PMC_KGMON_INFO, &info), EPROTO);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		T(test_info), T(test_operations), T(test_dump), T(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_ktr_info(), _control() and _open() against a server that may answer anything. */
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
	struct pmc_ktr k;

	assert_int_equal(pmc_ktr_info(&k), 0);
	assert_int_equal(f->ktr.what, WIRE_KTR_INFO);
	assert_int_equal(k.pk_compile, 1);
	assert_int_equal(k.pk_missing, 2);
	assert_int_equal(k.pk_mask, 3);
	assert_int_equal(k.pk_saved, 4);
	assert_int_equal(k.pk_frozen, 5);
	assert_int_equal(k.pk_entries, 6);
	assert_int_equal(k.pk_ncpu, 7);
	assert_true(k.pk_written == 1ull << 40);
	assert_int_equal(strlen(k.pk_stopped), sizeof(k.pk_stopped) - 1);
	expect_errno(pmc_ktr_info(NULL), EFAULT);
}

static void test_control(void **state)
{
	struct fake *f = *state;

	assert_int_equal(pmc_ktr_control(PMC_KTR_FREEZE, NULL), 0);
	assert_int_equal(f->ktr.what, WIRE_KTR_FREEZE);
	assert_int_equal(pmc_ktr_control(PMC_KTR_THAW, NULL), 0);
	assert_int_equal(f->ktr.what, WIRE_KTR_THAW);
	assert_int_equal(pmc_ktr_control(PMC_KTR_CLEAR, NULL), 0);
	assert_int_equal(f->ktr.what, WIRE_KTR_CLEAR);
	assert_int_equal(pmc_ktr_control(PMC_KTR_MARK, "0123456789abcdef0123456789abcdef"), 0);
	assert_int_equal(f->ktr.what, WIRE_KTR_MARK);
	assert_string_equal(f->ktr.text, "0123456789abcdef0123456789abcde");
	expect_errno(pmc_ktr_control(PMC_KTR_MARK, NULL), EFAULT);
	expect_errno(pmc_ktr_control(PMC_KTR_CLEAR, "x"), EINVAL);
	assert_contains(pmc_errstr(), "only a mark has a text");
	expect_errno(pmc_ktr_control((enum pmc_ktr_op)4, NULL), EINVAL);
	expect_errno(pmc_ktr_control((enum pmc_ktr_op)-1, NULL), EINVAL);
}

/* The caller owns the descriptor; any other number of them cannot come from this daemon. */
static void test_open(void **state)
{
	struct fake *f = *state;
	int fd, next;

	f->ktr_fds = 1;
	fd = pmc_ktr_open();
	assert_true(fd >= 0);
	assert_int_equal(f->ktr.what, WIRE_KTR_OPEN);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	f->ktr_fds = 2;
	expect_errno(pmc_ktr_open(), EPROTO);
	f->ktr_fds = 0;
	expect_errno(pmc_ktr_open(), EPROTO);
	assert_contains(pmc_errstr(), "one release");
	/* None of them stays behind. */
	next = dup(0);
	assert_int_equal(next, fd);
	close(next);
	f->ktr_fds = 1;
	expect_errno(pmc_ktr_control(PMC_KTR_CLEAR, NULL), EPROTO);
}

static void test_refused(void **state)
{
	struct fake *f = *state;
	struct pmc_ktr k;

	f->fault = FAKE_REFUSE;
	f->fault_op = WIRE_OP_KTR;
	f->error = ENXIO;
	f->reason = "there are no trace rings";
	expect_errno(pmc_ktr_open(), ENXIO);
	assert_string_equal(pmc_errstr(), "there are no trace rings");
	expect_errno(pmc_ktr_control(PMC_KTR_FREEZE, NULL), ENXIO);
	f->fault = FAKE_SHORT_PAYLOAD;
	expect_errno(pmc_ktr_info(&k), EPROTO);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)
	const struct CMUnitTest tests[] = {
		T(test_info), T(test_control), T(test_open), T(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits for drains. */
#include "loader/pmc/drain_waits.h"
#include "unit.h"

#define NOW 1000u			/* records up to then are awaited */

static struct fibers *fs;
static struct drain_waits waits;
static unsigned int nwoken;
static bool waited;

static int begin(void **state)
{
	fs = fibers_new();
	drain_waits_init(&waits);
	nwoken = 0;
	return fs ? 0 : -1;
}

static int end(void **state)
{
	fibers_free(fs);
	return 0;
}

static void operation(void *arg)
{
	struct drain_wait w;

	waited = drain_wait_begin(&waits, fs, &w);
	if (waited)
		drain_wait_end(&waits, fs, &w, NOW);
}

static void woken(void *arg)
{
	nwoken++;
}

/* A fiber that waits, after a drain that ended early. */
static struct fiber *set_out(void)
{
	struct fiber *f = fiber_new(fs, operation, woken, NULL);

	assert_non_null(f);
	drain_waits_wake(&waits, NOW, NOW - 100);
	assert_int_equal(fiber_resume(f), FIBER_PARKED);
	assert_true(waited);
	assert_true(drain_waits_any(&waits));
	return f;
}

static void test_written(void **state)
{
	struct fiber *f = set_out();

	/* Another exec began before the first was complete. */
	drain_waits_wake(&waits, NOW + 2000000, NOW - 1);
	assert_int_equal(nwoken, 1);
	assert_int_equal(fiber_resume(f), FIBER_PARKED);
	drain_waits_wake(&waits, NOW + 4000000, NOW);
	assert_int_equal(nwoken, 2);
	assert_int_equal(fiber_resume(f), FIBER_ENDED);
	assert_false(drain_waits_any(&waits));
}

/* A drain of 200 ms later still lacks records: they do not come. */
static void test_never(void **state)
{
	struct fiber *f = set_out();

	drain_waits_wake(&waits, NOW + 199999999, NOW - 1);
	assert_int_equal(fiber_resume(f), FIBER_PARKED);
	drain_waits_wake(&waits, NOW + 200000000, NOW - 1);
	assert_int_equal(fiber_resume(f), FIBER_ENDED);
	assert_false(drain_waits_any(&waits));
}

static void test_hurry(void **state)
{
	struct fiber *f = set_out();

	fibers_hurry(fs);
	assert_int_equal(fiber_resume(f), FIBER_ENDED);
	assert_false(drain_waits_any(&waits));
	f = fiber_new(fs, operation, woken, NULL);
	assert_non_null(f);
	assert_int_equal(fiber_resume(f), FIBER_ENDED);
	assert_false(waited);
}

static void test_no_fiber(void **state)
{
	operation(NULL);
	assert_false(waited);
	assert_false(drain_waits_any(&waits));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_written), TEST(test_never), TEST(test_hurry), TEST(test_no_fiber),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

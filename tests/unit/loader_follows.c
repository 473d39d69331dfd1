/* SPDX-License-Identifier: BSD-2-Clause */
/* Which processes' records a PMC's log gets, and until when. */
#include "loader/pmc/follows.h"
#include "unit.h"

static struct follows fs;
static struct pmc a, b;
static uint64_t detached;		/* the share of the last one */

static void detached_put(const struct follow *f)
{
	detached = f->share;
}

static int setup(void **state)
{
	follows_init(&fs, detached_put);
	detached = 0;
	LIST_INIT(&a.follows);
	LIST_INIT(&b.follows);
	return 0;
}

static int teardown(void **state)
{
	follows_free(&fs);
	return 0;
}

static void one_for_each_pair(void **state)
{
	struct follow *f = follow_make(&fs, &a, 7, 100);

	assert_ptr_equal(follow_make(&fs, &a, 7, 200), f);
	assert_int_equal(f->since, 100);
	assert_true(f->until == UINT64_MAX);
	assert_null(follow_find(&fs, &b, 7));
	assert_ptr_not_equal(follow_make(&fs, &b, 7, 100), f);
	assert_ptr_not_equal(follow_make(&fs, &a, 7 + FOLLOW_BUCKETS, 100), f);
	assert_ptr_equal(follow_find(&fs, &a, 7), f);
	follow_free(f);
	assert_null(follow_find(&fs, &a, 7));
	assert_non_null(follow_find(&fs, &b, 7));
}

/* Its last events and samples are written after it has gone. */
static void what_has_ended_stays_until_all_is_told(void **state)
{
	struct follow *f = follow_make(&fs, &a, 7, 100), *g = follow_make(&fs, &a, 8, 100);

	follow_end(&fs, f, 300);
	follow_end(&fs, f, 900);
	follow_end(&fs, g, 500);
	follows_sweep(&fs, 300);
	assert_ptr_equal(follow_find(&fs, &a, 7), f);
	follows_sweep(&fs, 301);
	assert_null(follow_find(&fs, &a, 7));
	assert_ptr_equal(follow_find(&fs, &a, 8), g);
	/* Attached anew, it is not what it was. */
	g->until = 450;
	g = follow_make(&fs, &a, 8, 600);
	assert_true(g->until == UINT64_MAX);
	follows_sweep(&fs, 1000);
	assert_ptr_equal(follow_find(&fs, &a, 8), g);
}

/* A process closed for its owner would otherwise close the next process with that pid as well. */
static void numbers_are_used_again(void **state)
{
	follow_make(&fs, &a, 7, 100)->until = 150;
	follow_end(&fs, follow_make(&fs, &b, 7, 100), 160);
	follows_born(&fs, 7, 200);
	assert_null(follow_find(&fs, &a, 7));
	assert_null(follow_find(&fs, &b, 7));
	/* Attached before its birth was read: the same. */
	assert_non_null(follow_make(&fs, &a, 7, 300));
	follows_born(&fs, 7, 250);
	follows_born(&fs, 7, 300);
	assert_non_null(follow_find(&fs, &a, 7));
	follows_sweep(&fs, 1000);
	assert_true(TAILQ_EMPTY(&fs.ended));
}

/* Its last slice may be in a ring when the exec is noted. */
static void a_detachment_is_written_behind_all_earlier_records(void **state)
{
	struct follow *f = follow_make(&fs, &a, 7, 100);

	f->detached = true;
	f->share = 3;
	follow_end(&fs, f, 300);
	follows_sweep(&fs, 300);
	assert_int_equal(detached, 0);
	follows_sweep(&fs, 301);
	assert_int_equal(detached, 3);
}

/* … even if no later record comes. */
static void a_detachment_is_written_before_the_next_life(void **state)
{
	struct follow *f = follow_make(&fs, &a, 7, 100);

	f->detached = true;
	f->share = 4;
	follow_end(&fs, f, 300);
	f = follow_make(&fs, &a, 7, 400);
	assert_int_equal(detached, 4);
	f->detached = true;
	f->share = 5;
	follows_born(&fs, 7, 500);
	assert_int_equal(detached, 5);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(one_for_each_pair), T(what_has_ended_stays_until_all_is_told),
		T(numbers_are_used_again),
		T(a_detachment_is_written_behind_all_earlier_records),
		T(a_detachment_is_written_before_the_next_life),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

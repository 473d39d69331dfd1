/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread that loads programs: a fiber that waits for it delays no other. */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "loader/base/fiber.h"
#include "loader/kernel/load_thread.h"
#include "unit.h"

static struct fibers *fs;
static struct load_thread *thread;

static int begin(void **state)
{
	fs = fibers_new();
	thread = load_thread_new();
	if (!fs || !thread)
		return -1;
	load_thread_fibers_from(thread, fs);
	return 0;
}

static int end(void **state)
{
	load_thread_free(thread);
	fibers_free(fs);
	return 0;
}

static unsigned int order;

/* An operation that waits for a job, which ends when something can be read. */
struct operation {
	struct fiber *fiber;
	int gate[2];
	uint64_t *user;
	pthread_t ran_in;
	bool ran, ended;
	unsigned int order;		/* among all jobs */
	unsigned int woken;
};

static void job(void *arg)
{
	struct operation *o = arg;
	char c;

	assert_int_equal(read(o->gate[0], &c, 1), 1);
	o->ran_in = pthread_self();
	o->ran = true;
	o->order = ++order;
}

static void operation_run(void *arg)
{
	struct operation *o = arg;

	load_thread_do(thread, o->user, job, o);
	o->ended = true;
}

static void operation_woken(void *arg)
{
	((struct operation *)arg)->woken++;
}

static void operation_begin(struct operation *o)
{
	static uint64_t any;

	o->user = o->user ?: &any;
	assert_int_equal(pipe(o->gate), 0);
	o->fiber = fiber_new(fs, operation_run, operation_woken, o);
	assert_non_null(o->fiber);
}

static void operation_let_on(const struct operation *o)
{
	assert_int_equal(write(o->gate[1], "", 1), 1);
}

static void operation_end(struct operation *o)
{
	close(o->gate[0]);
	close(o->gate[1]);
}

/* As the event loop does. */
static void wait_and_wake(void)
{
	struct pollfd p = { .fd = load_thread_fd(thread), .events = POLLIN };

	assert_int_equal(poll(&p, 1, -1), 1);
	load_thread_wake(thread);
}

static void others_run_while_a_fiber_waits(void **state)
{
	struct operation first = { 0 }, second = { 0 };

	operation_begin(&first);
	operation_begin(&second);
	assert_int_equal(fiber_resume(first.fiber), FIBER_PARKED);
	assert_int_equal(fiber_resume(second.fiber), FIBER_PARKED);
	assert_false(first.ended || second.ended);
	operation_let_on(&first);
	wait_and_wake();
	assert_int_equal(first.woken, 1);
	assert_int_equal(second.woken, 0);
	assert_int_equal(fiber_resume(first.fiber), FIBER_ENDED);
	assert_true(first.ran && first.ended && !second.ran);
	assert_false(pthread_equal(first.ran_in, pthread_self()));
	operation_let_on(&second);
	wait_and_wake();
	assert_int_equal(first.woken, 1);
	assert_int_equal(fiber_resume(second.fiber), FIBER_ENDED);
	assert_true(second.ended);
	assert_true(pthread_equal(first.ran_in, second.ran_in));
	operation_end(&first);
	operation_end(&second);
}

static void users_take_turns(void **state)
{
	uint64_t many = 0, one = 0, other = 0;
	struct operation o[] = {
		{ .user = &many }, { .user = &many }, { .user = &many }, { .user = &one },
		{ .user = &other }, { .user = &one },
	};
	static const unsigned int wanted[] = { 1, 4, 6, 2, 3, 5 };

	order = 0;
	for (unsigned int i = 0; i < 6; i++) {
		operation_begin(&o[i]);
		assert_int_equal(fiber_resume(o[i].fiber), FIBER_PARKED);
	}
	for (unsigned int i = 0; i < 6; i++)
		operation_let_on(&o[i]);
	for (bool all = false; !all; ) {
		wait_and_wake();
		all = true;
		for (unsigned int i = 0; i < 6; i++)
			all &= o[i].woken > 0;
	}
	for (unsigned int i = 0; i < 6; i++) {
		assert_int_equal(fiber_resume(o[i].fiber), FIBER_ENDED);
		assert_int_equal(o[i].order, wanted[i]);
		operation_end(&o[i]);
	}
}

/* Others may wake a fiber for reasons of their own. */
static void a_fiber_resumed_early_waits_on(void **state)
{
	struct operation o = { 0 };

	operation_begin(&o);
	assert_int_equal(fiber_resume(o.fiber), FIBER_PARKED);
	load_thread_wake(thread);
	assert_int_equal(o.woken, 0);
	assert_int_equal(fiber_resume(o.fiber), FIBER_PARKED);
	operation_let_on(&o);
	wait_and_wake();
	assert_int_equal(fiber_resume(o.fiber), FIBER_ENDED);
	operation_end(&o);
}

static void outside_of_a_fiber_the_caller_waits(void **state)
{
	uint64_t user = 0;
	struct operation o = { .user = &user };

	assert_int_equal(pipe(o.gate), 0);
	operation_let_on(&o);
	operation_run(&o);
	assert_true(o.ran && o.ended);
	assert_false(pthread_equal(o.ran_in, pthread_self()));
	operation_end(&o);
}

static void at_the_daemons_end_no_fiber_parks(void **state)
{
	struct operation o = { 0 };

	operation_begin(&o);
	assert_int_equal(fiber_resume(o.fiber), FIBER_PARKED);
	operation_let_on(&o);
	fibers_hurry(fs);
	assert_int_equal(fiber_resume(o.fiber), FIBER_ENDED);
	assert_true(o.ran && o.ended);
	operation_end(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(others_run_while_a_fiber_waits, begin, end),
		cmocka_unit_test_setup_teardown(users_take_turns, begin, end),
		cmocka_unit_test_setup_teardown(a_fiber_resumed_early_waits_on, begin, end),
		cmocka_unit_test_setup_teardown(outside_of_a_fiber_the_caller_waits, begin, end),
		cmocka_unit_test_setup_teardown(at_the_daemons_end_no_fiber_parks, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

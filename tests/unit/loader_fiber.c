/* SPDX-License-Identifier: BSD-2-Clause */
/* Fibers: slices, waits and stacks. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loader/base/clock.h"
#include "loader/base/fiber.h"
#include "unit.h"

#define MANY 500u

static struct fibers *fs;

static int begin(void **state)
{
	fs = fibers_new();
	return fs ? 0 : -1;
}

static int end(void **state)
{
	fibers_free(fs);
	return 0;
}

/* What a fiber does, and how far it has come. */
struct walk {
	struct fiber *fiber;
	unsigned int steps, done, woken;
	enum { RETURNS, BREATHES, PARKS } at_step;
	uintptr_t stack;
};

static void use_slice_up(void)
{
	uint64_t until = clock_ns() + 2000000u;

	while (clock_ns() < until)
		continue;
}

static void walk(void *arg)
{
	struct walk *w = arg;
	volatile char here[100];

	here[0] = (char)w->steps;
	w->stack = (uintptr_t)here;
	assert_ptr_equal(fiber_current(fs), w->fiber);
	for (; w->done < w->steps; w->done++) {
		if (w->at_step == BREATHES) {
			use_slice_up();
			fiber_breathe(fs);
		} else if (w->at_step == PARKS) {
			fiber_park(fs);
		}
		/* Its stack is as it was. */
		assert_int_equal(here[0], (char)w->steps);
	}
}

static void woken(void *arg)
{
	struct walk *w = arg;

	w->woken++;
}

static void set_out(struct walk *w)
{
	w->fiber = fiber_new(fs, walk, woken, w);
	assert_non_null(w->fiber);
}

static void test_run(void **state)
{
	struct walk w = { .steps = 3, .at_step = RETURNS };

	assert_null(fiber_current(NULL));
	assert_null(fiber_current(fs));
	set_out(&w);
	assert_int_equal(w.done, 0);
	assert_int_equal(fiber_resume(w.fiber), FIBER_ENDED);
	assert_int_equal(w.done, 3);
	assert_null(fiber_current(fs));
	/* Outside of a fiber there is no other to yield to. */
	fiber_breathe(fs);
}

static void test_breathe(void **state)
{
	struct walk w = { .steps = 3, .at_step = BREATHES };

	set_out(&w);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(fiber_resume(w.fiber), FIBER_READY);
		assert_int_equal(w.done, i);
		/* A fiber that does not wait cannot be woken. */
		fiber_wake(w.fiber);
	}
	assert_int_equal(fiber_resume(w.fiber), FIBER_ENDED);
	assert_int_equal(w.woken, 0);
}

/* Held, it continues however long its slice has been over. */
static void test_hold(void **state)
{
	struct walk w = { .steps = 3, .at_step = BREATHES };

	fibers_hold(NULL, true);
	set_out(&w);
	fibers_hold(fs, true);
	fibers_hold(fs, true);
	fibers_hold(fs, false);
	assert_int_equal(fiber_resume(w.fiber), FIBER_ENDED);
	assert_int_equal(w.done, 3);
	fibers_hold(fs, false);
	w.done = 0;
	set_out(&w);
	assert_int_equal(fiber_resume(w.fiber), FIBER_READY);
	while (fiber_resume(w.fiber) != FIBER_ENDED)
		continue;
}

/* As long as it has time left it goes on. */
static void breathe_early(void *arg)
{
	unsigned int *n = arg;

	fiber_breathe(fs);
	(*n)++;
}

static void test_slice(void **state)
{
	unsigned int n = 0, rounds = 0;

	/* A hypervisor may steal more than a slice from any of them, but not from all. */
	for (; rounds < 100; rounds++) {
		struct fiber *f = fiber_new(fs, breathe_early, NULL, &n);

		if (fiber_resume(f) == FIBER_ENDED)
			break;
		assert_int_equal(fiber_resume(f), FIBER_ENDED);
	}
	assert_in_range(rounds, 0, 99);
	assert_int_equal(n, rounds + 1);
}

static void test_park(void **state)
{
	struct walk w = { .steps = 2, .at_step = PARKS };

	set_out(&w);
	assert_int_equal(fiber_resume(w.fiber), FIBER_PARKED);
	assert_int_equal(w.woken, 0);
	fiber_wake(w.fiber);
	assert_int_equal(w.woken, 1);
	assert_int_equal(w.done, 0);
	assert_int_equal(fiber_resume(w.fiber), FIBER_PARKED);
	assert_int_equal(w.done, 1);
	assert_int_equal(fiber_resume(w.fiber), FIBER_ENDED);
}

static void test_hurry(void **state)
{
	struct walk w = { .steps = 3, .at_step = BREATHES };

	set_out(&w);
	assert_int_equal(fiber_resume(w.fiber), FIBER_READY);
	assert_false(fibers_hurried(fs));
	fibers_hurry(fs);
	assert_true(fibers_hurried(fs));
	assert_int_equal(fiber_resume(w.fiber), FIBER_ENDED);
	assert_int_equal(w.done, 3);
}

static size_t address_space(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_int_equal(fscanf(f, "%lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Stacks are used again, and no more than a few are kept. */
static void test_stacks(void **state)
{
	struct walk w = { .steps = 1, .at_step = RETURNS };
	uintptr_t first;
	size_t before;

	set_out(&w);
	assert_int_equal(fiber_resume(w.fiber), FIBER_ENDED);
	first = w.stack;
	before = address_space();
	for (unsigned int i = 0; i < 1000; i++) {
		w.done = 0;
		set_out(&w);
		assert_int_equal(fiber_resume(w.fiber), FIBER_ENDED);
		assert_true(w.stack == first);
	}
	assert_in_range(address_space(), 0, before + (8u << 20));
}

/* Each proceeds independently, one step in each round. */
static void test_many(void **state)
{
	struct walk *w = calloc(MANY, sizeof(*w));
	size_t before = address_space();

	for (unsigned int i = 0; i < MANY; i++) {
		w[i] = (struct walk){ .steps = i % 7, .at_step = PARKS };
		set_out(&w[i]);
	}
	assert_true(address_space() > before + (MANY << 19));
	for (unsigned int round = 0; round < 7; round++)
		for (unsigned int i = 0; i < MANY; i++)
			if (w[i].steps >= round)
				assert_int_equal(fiber_resume(w[i].fiber),
						 w[i].steps == round ? FIBER_ENDED : FIBER_PARKED);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(w[i].done, w[i].steps);
	free(w);
	/* Their stacks are gone but for a few. */
	assert_in_range(address_space(), 0, before + (64u << 20));
}

static __attribute__((noinline)) unsigned int dive(unsigned int depth)
{
	volatile char room[4096];

	room[0] = (char)depth;
	room[4095] = depth ? (char)dive(depth - 1) : 0;
	return (unsigned int)room[0] + (unsigned int)room[4095];
}

static void overflow(void *arg)
{
	*(volatile unsigned int *)arg = dive(300);
}

/* More than a stack's size ends in its guard, not in another's memory. */
static void test_overflow(void **state)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		unsigned int n;
		struct rlimit none = { .rlim_cur = 0 };
		struct fiber *f;

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGSEGV, SIG_DFL);
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		/* The neighbour's stack is below; without a guard it would do. */
		f = fiber_new(fs, overflow, NULL, &n);
		(void)fiber_new(fs, overflow, NULL, &n);
		fiber_resume(f);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_run), TEST(test_breathe), TEST(test_hold), TEST(test_slice),
		TEST(test_park), TEST(test_hurry), TEST(test_stacks), TEST(test_many),
		TEST(test_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

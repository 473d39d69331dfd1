/* SPDX-License-Identifier: BSD-2-Clause */
/* Errands: a user's helpers are limited to that user's share, and fibers wait for one of them. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loader/errand/errand.h"
#include "unit.h"

#define CALLERS 3u

/* A fiber that sends a helper; its helper is done when `door` closes. */
struct caller {
	struct fiber *fiber;
	int door, helpers_door;
	bool begun, ended, woken;
	int err;
	struct reason why;
};

static struct config config;
static struct user_table users;
static struct errands es;
static struct user *user;
static struct caller callers[CALLERS];

/* --- the jobs --------------------------------------------------------------------------------- */

static int receive_job(struct helper_call *call)
{
	char byte;

	return (int)read(call->fds[0], &byte, 1);
}

static helper_job *const jobs[ERRAND_JOBS] = { [ERRAND_RECEIVE] = receive_job };

/* --- callers ---------------------------------------------------------------------------------- */

static void call(void *arg)
{
	struct caller *c = arg;
	struct helper_part unused;
	struct errand *e;

	c->err = errand_begin(&es, user, ERRAND_RECEIVE, NULL, 0, &c->helpers_door, 1, ERRAND_MS,
			      &e, &c->why);
	close(c->helpers_door);
	c->begun = true;
	if (!c->err) {
		c->err = errand_next(e, &unused);
		errand_end(e);
	}
	c->ended = true;
}

static void woken(void *arg)
{
	((struct caller *)arg)->woken = true;
}

static void start(struct caller *c)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	*c = (struct caller){ .door = pair[0], .helpers_door = pair[1] };
	c->fiber = fiber_new(es.fibers, call, woken, c);
	fiber_resume(c->fiber);
}

static void let_go(struct caller *c)
{
	close(c->door);
}

/* One round of an event loop. */
static void turn(void)
{
	struct pollfd fd = { .fd = helpers_fd(es.helpers), .events = POLLIN };

	assert_true(poll(&fd, 1, 60000) > 0);
	helpers_run(es.helpers);
	helpers_settle(es.helpers);
	for (unsigned int i = 0; i < CALLERS; i++) {
		if (!callers[i].woken)
			continue;
		callers[i].woken = false;
		fiber_resume(callers[i].fiber);
	}
}

static int begin(void **state)
{
	const struct cred c = { .pid = -1, .uid = { 1000, 1000, 1000 }, .user_ns = 4026531837ull };
	struct reason why;

	config_init(&config);
	memset(&users, 0, sizeof(users));
	user_table_init(&users, &config);
	config.value[TUN_USER_SHARE] = 1;	/* of 64: one helper */
	memset(callers, 0, sizeof(callers));
	user = user_get(&users, &c);
	return errands_new(&es, &users, jobs, &why);
}

static int end(void **state)
{
	errands_free(&es);
	user_put(user);
	assert_true(LIST_EMPTY(&users.users));
	return 0;
}

/* --- the rules -------------------------------------------------------------------------------- */

static void test_waits_for_a_helper(void **state)
{
	for (unsigned int i = 0; i < CALLERS; i++)
		start(&callers[i]);
	assert_false(callers[1].begun || callers[2].begun);
	assert_in_range(errands_due(&es), 1, ERRAND_MS + 1);
	for (unsigned int i = 0; i < CALLERS; i++) {
		let_go(&callers[i]);
		while (!callers[i].ended)
			turn();
		assert_int_equal(callers[i].err, 0);
		/* In the order in which they came. */
		for (unsigned int j = i + 2; j < CALLERS; j++)
			assert_false(callers[j].begun);
	}
	while (user->used[POOL_HELPERS])
		turn();
	assert_int_equal(errands_due(&es), -1);
}

/* The daemon ends: no fiber waits, and a helper at work is abandoned. */
static void test_hurry(void **state)
{
	start(&callers[0]);
	start(&callers[1]);
	fibers_hurry(es.fibers);
	fiber_resume(callers[1].fiber);
	assert_int_equal(callers[1].err, -EAGAIN);
	assert_non_null(strstr(callers[1].why.text, "uid 1000 has 1 of pmcbpfd's 64 requests"));
	fiber_resume(callers[0].fiber);
	assert_int_equal(callers[0].err, -ECANCELED);
	while (user->used[POOL_HELPERS])
		turn();
	let_go(&callers[0]);
	let_go(&callers[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(test_waits_for_a_helper), TEST(test_hurry) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}

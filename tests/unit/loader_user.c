/* SPDX-License-Identifier: BSD-2-Clause */
/* Users' quotas: shares, the reserve, namespaces, and the return of everything taken. */
#include <errno.h>
#include <string.h>

#include "loader/policy/policy.h"
#include "unit.h"

#define INITIAL 4026531837ull

static struct config config;
static struct user_table users;
static struct reason why;

static int setup(void **state)
{
	config_init(&config);
	memset(&users, 0, sizeof(users));
	user_table_init(&users, &config);
	user_pool(&users, POOL_LOG_BUFFERS, 64);
	return 0;
}

static struct user *user_of(uid_t uid, uint64_t caps, uint64_t user_ns)
{
	const struct cred c = {
		.pid = -1, .uid = { uid, uid, uid }, .permitted = caps, .effective = caps,
		.user_ns = user_ns,
	};

	return user_get(&users, &c);
}

static int take(struct user *u, unsigned int n)
{
	return user_take(&users, u, POOL_LOG_BUFFERS, n, &why);
}

static void test_share(void **state)
{
	struct user *u = user_of(1000, 0, INITIAL);

	assert_int_equal(take(u, 16), 0);
	assert_int_equal(take(u, 1), -EAGAIN);
	assert_non_null(strstr(why.text, "uid 1000 has 16 of pmcbpfd's 64 log buffers"));
	assert_non_null(strstr(why.text, "user.share=25 percent of kern.hwpmc.nbuffers"));
	user_give(&users, u, POOL_LOG_BUFFERS, 16);
	assert_int_equal(take(u, 17), -EAGAIN);
	config.value[TUN_USER_SHARE] = 50;
	assert_int_equal(take(u, 17), 0);
	user_give(&users, u, POOL_LOG_BUFFERS, 17);
	user_put(u);
}

/* Returns the remaining amount, without taking it. */
static void test_room(void **state)
{
	struct user *root = user_of(0, ~0ull, INITIAL), *u = user_of(1000, 0, INITIAL);

	assert_int_equal(user_room(&users, u, POOL_LOG_BUFFERS), 16);
	assert_int_equal(user_room(&users, root, POOL_LOG_BUFFERS), 64);
	assert_int_equal(take(u, 10), 0);
	assert_int_equal(user_room(&users, u, POOL_LOG_BUFFERS), 6);
	assert_int_equal(take(root, 50), 0);
	assert_int_equal(user_room(&users, root, POOL_LOG_BUFFERS), 4);
	/* The reserve is 6. */
	assert_int_equal(user_room(&users, u, POOL_LOG_BUFFERS), 0);
	user_give(&users, u, POOL_LOG_BUFFERS, 10);
	user_give(&users, root, POOL_LOG_BUFFERS, 50);
	user_put(u);
	user_put(root);
}

/* With any number of users, the rest is for privileged ones: shares do not limit them. */
static void test_reserve(void **state)
{
	struct user *root = user_of(0, ~0ull, INITIAL), *u[4];

	for (unsigned int i = 0; i < 4; i++) {
		u[i] = user_of(1000 + i, 0, INITIAL);
		assert_int_equal(take(u[i], i < 3 ? 16 : 10), 0);
	}
	assert_int_equal(take(u[3], 1), -EAGAIN);
	assert_non_null(strstr(why.text, "58 of pmcbpfd's 64 log buffers"));
	assert_non_null(strstr(why.text, "user.reserve"));
	assert_int_equal(take(root, 6), 0);
	assert_int_equal(take(root, 1), -EAGAIN);
	for (unsigned int i = 0; i < 4; i++) {
		user_give(&users, u[i], POOL_LOG_BUFFERS, i < 3 ? 16 : 10);
		user_put(u[i]);
	}
	user_give(&users, root, POOL_LOG_BUFFERS, 6);
	user_put(root);
	assert_int_equal(users.used[POOL_LOG_BUFFERS], 0);
	assert_true(LIST_EMPTY(&users.users));
}

/* Privileged processes are users apart from their uid's others, and containers from the host. */
static void test_identity(void **state)
{
	struct user *plain = user_of(1000, 0, INITIAL), *capable = user_of(1000, ~0ull, INITIAL);
	struct user *inside = user_of(1000, 0, 17), *other = user_of(1000, 0, 18);
	struct user *again = user_of(1000, 0, INITIAL);

	assert_ptr_equal(plain, again);
	assert_ptr_not_equal(plain, capable);
	assert_ptr_not_equal(plain, inside);
	assert_ptr_not_equal(inside, other);
	user_put(again);
	user_put(plain);
	user_put(capable);
	user_put(inside);
	user_put(other);
	assert_true(LIST_EMPTY(&users.users));
}

/* The record stays while something is charged to it. */
static void test_kept(void **state)
{
	struct user *u = user_of(1000, 0, INITIAL);

	assert_int_equal(take(u, 3), 0);
	user_put(u);
	assert_ptr_equal(LIST_FIRST(&users.users), u);
	user_give(&users, u, POOL_LOG_BUFFERS, 2);
	assert_ptr_equal(LIST_FIRST(&users.users), u);
	user_give(&users, u, POOL_LOG_BUFFERS, 1);
	assert_true(LIST_EMPTY(&users.users));
}

/* A small pool also keeps one in reserve, and gives one. */
static void test_small_pools(void **state)
{
	struct user *u = user_of(1000, 0, INITIAL);

	assert_int_equal(user_reserve(u, 16), 1);
	assert_int_equal(user_reserve(u, 4), 1);
	assert_int_equal(user_reserve(u, 1), 0);
	assert_int_equal(user_reserve(u, 4096), 409);
	assert_int_equal(user_share(u, 3), 1);
	config.value[TUN_USER_RESERVE] = 0;
	assert_int_equal(user_reserve(u, 16), 0);
	user_put(u);
}

/* A forced charge succeeds, and counts for later ones. */
static void test_charge(void **state)
{
	struct user *u = user_of(1000, 0, INITIAL);
	unsigned int own, all;

	user_limits(&users, u, POOL_LOG_BUFFERS, &own, &all);
	assert_int_equal(own, 16);
	assert_int_equal(all, 58);
	assert_int_equal(user_may(&users, u, POOL_LOG_BUFFERS, 16, &why), 0);
	assert_int_equal(u->used[POOL_LOG_BUFFERS], 0);
	user_charge(&users, u, POOL_LOG_BUFFERS, 20);
	assert_int_equal(take(u, 1), -EAGAIN);
	assert_int_equal(take(u, 0), 0);
	user_give(&users, u, POOL_LOG_BUFFERS, 5);
	assert_int_equal(take(u, 1), 0);
	user_give(&users, u, POOL_LOG_BUFFERS, 16);
	user_put(u);
	assert_true(LIST_EMPTY(&users.users));
}

static void test_range(void **state)
{
	assert_int_equal(config_change(&config, "user.share", "0", &why), -EINVAL);
	assert_non_null(strstr(why.text, "from 1 to 100"));
	assert_int_equal(config.value[TUN_USER_SHARE], 25);
	assert_int_equal(config_change(&config, "user.share", "100", &why), 0);
	assert_int_equal(config.value[TUN_USER_SHARE], 100);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		T(test_share), T(test_room), T(test_reserve), T(test_identity), T(test_kept),
		T(test_small_pools), T(test_charge), T(test_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

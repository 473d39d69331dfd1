/* SPDX-License-Identifier: BSD-2-Clause */
/* How logs end whose readers do not read; shares are in tests/e2e/log_strangers.bats. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lingering.h"
#include "loader/log/logpool.h"
#include "tests/unit/loader/logs.h"
#include "tests/unit/loader/reaped.h"

static struct logpool *pool;
static int event;
static struct reason why;

/* --- system calls of the writer --------------------------------------------------------------- */

static struct {
	int fd;				/* the log's */
	bool relinger;			/* the owner sets SO_LINGER again, just before the end */
	bool stuck;			/* close(2) does not return, whatever happens */
	bool closing;
	long later;			/* ns that the clock is ahead */
} script;

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __real_clock_gettime(clockid_t clock, struct timespec *ts);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ts);
int __real_close(int fd);
int __wrap_close(int fd);

static void set_linger(int fd)
{
	const struct linger linger = { .l_onoff = 1, .l_linger = 600 };

	assert_int_equal(__real_setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
}

int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	int err = __real_setsockopt(fd, level, name, value, len);

	if (script.relinger && fd == script.fd)
		set_linger(fd);
	return err;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	int err = __real_clock_gettime(clock, ts);

	ts->tv_nsec += script.later;
	ts->tv_sec += ts->tv_nsec / 1000000000;
	ts->tv_nsec %= 1000000000;
	return err;
}

int __wrap_close(int fd)
{
	if (fd == script.fd) {
		__atomic_store_n(&script.closing, true, __ATOMIC_RELEASE);
		while (__atomic_load_n(&script.stuck, __ATOMIC_ACQUIRE))
			usleep(1000);
	}
	return __real_close(fd);
}

/* --- logs ------------------------------------------------------------------------------------- */

static int set_up(void **state)
{
	const struct logpool_config config = { .buffers = 8, .size = 4096 };

	signal(SIGPIPE, SIG_IGN);
	memset(&script, 0, sizeof(script));
	script.fd = -1;
	return logs_pool(&pool, config, &event, &why);
}

/* All charges have been returned. */
static int tear_down(void **state)
{
	logpool_free(pool);
	for (unsigned int i = 0; i < POOLS; i++)
		assert_int_equal(logs_users.used[i], 0);
	assert_null(LIST_FIRST(&logs_users.users));
	return 0;
}

static struct pmclog_ev userdata(uint32_t n)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_USERDATA };

	ev.pl_u.pl_u.pl_userdata = n;
	return ev;
}

/* The number of records that found room. */
static uint32_t fill(struct logfile *l)
{
	struct pmclog_ev u = userdata(1);
	uint32_t n = 0;

	while (!logfile_put(l, n, &u))
		n++;
	return n;
}

/* It accepts no more. */
static void stuff(int fd)
{
	static const char data[4096];
	int flags = fcntl(fd, F_GETFL);

	assert_int_equal(fcntl(fd, F_SETFL, flags | O_NONBLOCK), 0);
	while (write(fd, data, sizeof(data)) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(fcntl(fd, F_SETFL, flags), 0);
}

static void stuffed_pipe(int fds[2])
{
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	stuff(fds[1]);
}

static struct logfile *open_log(int fd, enum logdest_kind kind)
{
	return logs_open(pool, fd, kind, LOGFMT_NEW);
}

static struct logfile *open_as(struct user *u, int fd, enum logdest_kind kind)
{
	struct logfile *l = NULL;

	assert_int_equal(logs_try(pool, u, fd, kind, LOGFMT_NEW, &l, &why), 0);
	return l;
}

/* --- shares ----------------------------------------------------------------------------------- */

/* A user's logs are counted, those on their way out too. */
static void test_logs(void **state)
{
	struct user *u = logs_user(1000, false);
	struct logfile *l, *none;
	int fds[2];

	user_pool(&logs_users, POOL_LOGS, 4);
	stuffed_pipe(fds);
	l = open_as(u, fds[1], LOGDEST_PIPE);
	assert_int_equal(logs_try(pool, u, -1, LOGDEST_PIPE, LOGFMT_NEW, &none, &why), -EAGAIN);
	assert_contains(why.text, "uid 1000 has 1 of pmcbpfd's 4 logs");
	logfile_free(l);
	assert_int_equal(logs_try(pool, u, -1, LOGDEST_PIPE, LOGFMT_NEW, &none, &why), -EAGAIN);
	until_reaped(pool, event);
	close(fds[0]);
	assert_int_equal(pipe(fds), 0);
	logfile_free(open_as(u, fds[1], LOGDEST_PIPE));
	until_reaped(pool, event);
	close(fds[0]);
	user_put(u);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void read_until_written(struct logfile *l, int fd)
{
	uint64_t before = logfile_written(l);
	static char data[4096];

	for (int i = 0; i < 60000 && logfile_written(l) == before; i++) {
		if (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 1) > 0)
			assert_true(read(fd, data, sizeof(data)) > 0);
	}
	assert_true(logfile_written(l) > before);
}

/* In a pool of its own, to a pipe that has no room. */
static struct logfile *open_slow(void **state, const struct logpool_config config, int fds[2])
{
	tear_down(state);
	assert_int_equal(logs_pool(&pool, config, &event, &why), 0);
	stuffed_pipe(fds);
	return open_log(fds[1], LOGDEST_PIPE);
}

/* The writer may still have filled the pipe since the latest look. */
static void until_abandoned(void)
{
	while (!*logs_heard) {
		script.later += 1100000000;
		logpool_reap(pool);
	}
	assert_contains(logs_heard, "1 log without an owner abandoned");
}

/* A slow reader is not a stopped one: it has the same time for each batch. */
static void test_slow(void **state)
{
	const struct logpool_config config = { .buffers = 64, .size = 4096 };
	int fds[2];
	struct logfile *l = open_slow(state, config, fds);

	(void)fill(l);
	logfile_free(l);
	for (int i = 0; i < 2; i++) {
		read_until_written(l, fds[0]);
		script.later += 1100000000;
		logpool_reap(pool);
		assert_string_equal(logs_heard, "");
	}
	until_abandoned();
	until_reaped(pool, event);
	close(fds[0]);
}

static uint64_t steps_of(const struct logfile *l)
{
	return __atomic_load_n(&l->steps, __ATOMIC_ACQUIRE);
}

/* … nor is one that takes longer for a buffer larger than a pipe. */
static void test_slow_buffer(void **state)
{
	const struct logpool_config config = { .buffers = 8, .size = 1 << 20 };
	struct pmclog_ev u = userdata(1);
	static char data[4096];
	int fds[2];
	struct logfile *l = open_slow(state, config, fds);

	for (uint32_t i = 0; i < 12 * LOG_STEP / 24; i++)
		assert_int_equal(logfile_put(l, i, &u), 0);
	logfile_free(l);
	for (unsigned int i = 0; i < 3; i++) {
		uint64_t before = steps_of(l);

		while (steps_of(l) == before)
			if (poll(&(struct pollfd){ .fd = fds[0], .events = POLLIN }, 1, 1) > 0)
				assert_true(read(fds[0], data, sizeof(data)) > 0);
		script.later += 1100000000;
		logpool_reap(pool);
		assert_string_equal(logs_heard, "");
	}
	assert_int_equal(logfile_written(l), 0);
	until_abandoned();
	until_reaped(pool, event);
	close(fds[0]);
}

/* A message is no larger than a socket takes, whatever the buffers' size; none is cut. */
static void test_messages(void **state)
{
	const struct logpool_config config = { .buffers = 8, .size = 1 << 20 };
	const uint32_t records = 12 * LOG_STEP / 24;
	struct pmclog_ev u = userdata(1);
	static char data[2 * LOG_STEP];
	struct logfile *l;
	size_t total = 0;
	int fds[2];
	ssize_t n;

	tear_down(state);
	assert_int_equal(logs_pool(&pool, config, &event, &why), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds), 0);
	l = open_log(fds[1], LOGDEST_UNIX);
	for (uint32_t i = 0; i < records; i++)
		assert_int_equal(logfile_put(l, i, &u), 0);
	logfile_close(l);
	while ((n = recv(fds[0], data, sizeof(data), 0)) > 0) {
		assert_in_range(n, 1, LOG_STEP);
		total += (size_t)n;
	}
	assert_int_equal(n, 0);
	assert_int_equal(total, 112 + 24 * records + 16);
	assert_int_equal(logfile_error(l, NULL), 0);
	logfile_free(l);
	until_reaped(pool, event);
	close(fds[0]);
}

/* CLOSELOG, and the writer is in close(2), which lingers: no client waits for it. */
static void test_closing(void **state)
{
	struct pmclog_ev u = userdata(1);
	struct logfile *l;
	int peer;

	script.fd = lingering(&peer);
	script.relinger = true;
	l = open_log(script.fd, LOGDEST_TCP);
	(void)fill(l);
	/* One read makes room for all that is buffered, but not for what had been sent before. */
	logfile_close(l);
	for (int i = 0; i < 60000 && !__atomic_load_n(&script.closing, __ATOMIC_ACQUIRE); i++) {
		static char data[65536];

		(void)recv(peer, data, sizeof(data), MSG_DONTWAIT);
		usleep(1000);
	}
	assert_true(script.closing);
	assert_int_equal(logfile_put(l, 1, &u), -EPIPE);
	assert_int_equal(logfile_error(l, NULL), 0);
	(void)logfile_flush(l);
	logfile_free(l);
	until_reaped(pool, event);
	close(peer);
}

/* No reader, and the close lingers: abandoned in the write, and then in close(2). */
static void test_linger(void **state)
{
	struct logfile *l;
	int peer;

	script.fd = lingering(&peer);
	script.relinger = true;
	l = open_log(script.fd, LOGDEST_TCP);
	(void)fill(l);
	logfile_free(l);
	until_reaped(pool, event);
	assert_true(script.closing);
	close(peer);
}

/* Without the owner's help nothing lingers at all. */
static void test_no_linger(void **state)
{
	struct linger linger;
	socklen_t len = sizeof(linger);
	struct logfile *l;
	int peer, copy;

	script.fd = lingering(&peer);
	copy = dup(script.fd);
	l = open_log(script.fd, LOGDEST_TCP);
	logfile_free(l);
	until_reaped(pool, event);
	assert_int_equal(getsockopt(copy, SOL_SOCKET, SO_LINGER, &linger, &len), 0);
	assert_int_equal(linger.l_onoff, 0);
	close(copy);
	close(peer);
}

/* Nor for a thread that the kernel does not release. */
static void test_uninterruptible(void **state)
{
	static struct logpool *left;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	script.fd = fds[1];
	script.stuck = true;
	logfile_free(open_log(fds[1], LOGDEST_PIPE));
	left = pool;
	logpool_free(pool);
	assert_non_null(left);
	assert_contains(logs_heard, "does not let a log's writer end");
	assert_false(one_thread());
	__atomic_store_n(&script.stuck, false, __ATOMIC_RELEASE);
	while (!one_thread())
		usleep(1000);
	close(fds[0]);
	set_up(state);
}

int main(void)
{
#define LOG_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		LOG_TEST(test_logs), LOG_TEST(test_slow), LOG_TEST(test_closing),
		LOG_TEST(test_linger), LOG_TEST(test_slow_buffer), LOG_TEST(test_messages),
		LOG_TEST(test_no_linger), LOG_TEST(test_uninterruptible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

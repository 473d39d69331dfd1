/* SPDX-License-Identifier: BSD-2-Clause */
/* Logs whose readers do not read: what one user can hold, and how all of it comes back. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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
	bool stuck;			/* close(2) does not return, whatever comes */
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

/* Whatever was charged has been given back. */
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

/* How many records found room. */
static uint32_t fill(struct logfile *l)
{
	struct pmclog_ev u = userdata(1);
	uint32_t n = 0;

	while (!logfile_put(l, n, &u))
		n++;
	return n;
}

/* Nothing more goes in. */
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

static int stuffed_pty(int *slave)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	assert_true(master >= 0);
	assert_int_equal(grantpt(master), 0);
	assert_int_equal(unlockpt(master), 0);
	*slave = open(ptsname(master), O_WRONLY | O_NOCTTY | O_CLOEXEC);
	assert_true(*slave >= 0);
	stuff(*slave);
	return master;
}

/* A connection whose peer does not read, and which lingers when it is closed. */
static int stuffed_connection(int *peer)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(sin);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&sin, len), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&sin, &len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&sin, len), 0);
	*peer = accept(listener, NULL, NULL);
	assert_true(*peer >= 0);
	close(listener);
	set_linger(fd);
	stuff(fd);
	return fd;
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

/* One user's pipe that nobody reads takes no buffer from the others. */
static void test_share(void **state)
{
	struct user *nobody = logs_user(65534, false), *other = logs_user(1000, false);
	const uint32_t share = 2 * 4096;
	struct logfile *l, *theirs;
	int unread[2], second[2];
	uint32_t n, requests, failed;

	stuffed_pipe(unread);
	l = open_as(nobody, unread[1], LOGDEST_PIPE);
	n = fill(l);
	assert_in_range(n, (share - 112 - 24 * 2) / 24 - 2, share / 24);
	logpool_stats(pool, &requests, &failed);
	assert_int_equal(failed, 1);
	/* A second log of that user has no room for its first record. */
	stuffed_pipe(second);
	assert_int_equal(logs_try(pool, nobody, second[1], LOGDEST_PIPE, LOGFMT_NEW, &theirs, &why),
			 -ENOMEM);
	assert_contains(why.text, "uid 65534 has 2 of pmcbpfd's 8 log buffers");
	assert_contains(why.text, "user.share=25 percent of kern.hwpmc.nbuffers");
	theirs = open_as(other, second[1], LOGDEST_PIPE);
	assert_int_equal(fill(theirs), n);
	logfile_free(theirs);
	close(second[0]);
	/* What is left is the super-user's. */
	stuffed_pipe(second);
	theirs = open_log(second[1], LOGDEST_PIPE);
	assert_true(fill(theirs) > n);
	logfile_free(theirs);
	close(second[0]);
	logfile_free(l);
	close(unread[0]);
	until_reaped(pool, event);
	user_put(nobody);
	user_put(other);
}

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

/* Nobody reads and the owner is gone: a moment later everything comes back. */
static void test_abandoned(void **state)
{
	int fds[2], slave, master;
	struct pollfd p;

	stuffed_pipe(fds);
	master = stuffed_pty(&slave);
	for (int i = 0; i < 2; i++) {
		struct logfile *l = i ? open_log(slave, LOGDEST_TERMINAL) :
					open_log(fds[1], LOGDEST_PIPE);

		(void)fill(l);
		logfile_free(l);
		until_reaped(pool, event);
		for (unsigned int kind = 0; kind < POOLS; kind++)
			assert_int_equal(logs_users.used[kind], 0);
	}
	assert_contains(logs_heard, "5 1 log without an owner abandoned");
	/* Its descriptors are closed. */
	p = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_true(p.revents & POLLHUP);
	p.fd = master;
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_true(p.revents & POLLHUP);
	close(fds[0]);
	close(master);
}

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

/* One that is slow is not one that does not read: it has the same time for each batch. */
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
	script.later += 1100000000;
	logpool_reap(pool);
	assert_contains(logs_heard, "1 log without an owner abandoned");
	until_reaped(pool, event);
	close(fds[0]);
}

static uint64_t steps_of(const struct logfile *l)
{
	return __atomic_load_n(&l->steps, __ATOMIC_ACQUIRE);
}

/* … nor is one that takes longer for a buffer, if that is larger than a pipe. */
static void test_slow_buffer(void **state)
{
	const struct logpool_config config = { .buffers = 8, .size = 1 << 20 };
	struct pmclog_ev u = userdata(1);
	static char data[4096];
	int fds[2];
	struct logfile *l = open_slow(state, config, fds);

	for (uint32_t i = 0; i < 5 * LOG_STEP / 24; i++)
		assert_int_equal(logfile_put(l, i, &u), 0);
	logfile_free(l);
	for (uint64_t i = 0; i < 3; i++) {
		while (steps_of(l) == i)
			if (poll(&(struct pollfd){ .fd = fds[0], .events = POLLIN }, 1, 1) > 0)
				assert_true(read(fds[0], data, sizeof(data)) > 0);
		script.later += 1100000000;
		logpool_reap(pool);
		assert_string_equal(logs_heard, "");
	}
	assert_int_equal(logfile_written(l), 0);
	script.later += 1100000000;
	logpool_reap(pool);
	assert_contains(logs_heard, "1 log without an owner abandoned");
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

/* CLOSELOG, and the writer is in close(2), which lingers: nobody waits for it. */
static void test_closing(void **state)
{
	struct pmclog_ev u = userdata(1);
	struct logfile *l;
	int peer;

	script.fd = stuffed_connection(&peer);
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

/* Nobody reads, and the end lingers: abandoned in the write, and then in close(2). */
static void test_linger(void **state)
{
	struct logfile *l;
	int peer;

	script.fd = stuffed_connection(&peer);
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

	script.fd = stuffed_connection(&peer);
	copy = dup(script.fd);
	l = open_log(script.fd, LOGDEST_TCP);
	logfile_free(l);
	until_reaped(pool, event);
	assert_int_equal(getsockopt(copy, SOL_SOCKET, SO_LINGER, &linger, &len), 0);
	assert_int_equal(linger.l_onoff, 0);
	close(copy);
	close(peer);
}

/* Nobody reads and the daemon ends: the thread is not waited for for ever. */
static void test_stuck(void **state)
{
	struct logfile *l;
	int fds[2], peer;

	stuffed_pipe(fds);
	(void)open_log(fds[1], LOGDEST_PIPE);
	script.fd = stuffed_connection(&peer);
	script.relinger = true;
	l = open_log(script.fd, LOGDEST_TCP);
	logfile_free(l);
	assert_int_equal(tear_down(state), 0);
	assert_contains(logs_heard, "abandoned");
	assert_true(one_thread());
	close(fds[0]);
	close(peer);
	set_up(state);
}

/* One that the kernel does not let go: neither. */
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
		LOG_TEST(test_share),	LOG_TEST(test_logs),	  LOG_TEST(test_abandoned),
		LOG_TEST(test_slow),	LOG_TEST(test_closing),	  LOG_TEST(test_linger),
		LOG_TEST(test_slow_buffer), LOG_TEST(test_messages),
		LOG_TEST(test_no_linger), LOG_TEST(test_stuck), LOG_TEST(test_uninterruptible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

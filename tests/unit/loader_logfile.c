/* SPDX-License-Identifier: BSD-2-Clause */
/* Logs as they are written: bursts, ends, times; the rest is in tests/e2e/log.bats. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/loader/logs.h"
#include "tests/unit/loader/reaped.h"
#include "unit.h"

#define LATER (1ull << 62)	/* ns: behind INITIALIZE, which has the time of day */

static struct logpool *pool;
static int event;
static struct reason why;

static int set_up(void **state)
{
	const struct logpool_config config = { .buffers = 4, .size = 4096 };

	signal(SIGPIPE, SIG_IGN);
	return logs_pool(&pool, config, &event, &why);
}

static int tear_down(void **state)
{
	logpool_free(pool);
	return 0;
}

static struct logfile *open_log(int fd, enum logdest_kind kind, enum logfmt format)
{
	return logs_open(pool, fd, kind, format);
}

static void until_written(struct logfile *l, uint64_t ticket)
{
	for (int i = 0; i < 60000 && logfile_written(l) < ticket; i++)
		usleep(1000);
	assert_true(logfile_written(l) >= ticket);
}

static struct pmclog_ev userdata(uint32_t n)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_USERDATA };

	ev.pl_u.pl_u.pl_userdata = n;
	return ev;
}

static int temp_file(void)
{
	return memfd_create("log", MFD_CLOEXEC);
}

/*
 * A burst of many times the pool's size: a file has buffers for it, so that no record is missing
 * and no client waits.
 */
static void test_burst(void **state)
{
	int fd = temp_file();
	struct logfile *l = open_log(dup(fd), LOGDEST_FILE, LOGFMT_NEW);

	for (uint32_t i = 0; i < 50000; i++) {
		struct pmclog_ev u = userdata(i);

		assert_int_equal(logfile_put(l, LATER + i, &u), 0);
	}
	until_written(l, logfile_flush(l));
	assert_int_equal(lseek(fd, 0, SEEK_END), 112 + 50000 * 24);
	logfile_free(l);
	until_reaped(pool, event);
	close(fd);
}

/* Of a descriptor that does not block. */
static int read_soon(void *p, struct pmclog_ev *ev)
{
	int err;

	for (int i = 0; i < 60000; i++) {
		err = pmclog_read(p, ev);
		if (!err || ev->pl_state != PMCLOG_REQUIRE_DATA)
			break;
		usleep(1000);
	}
	return err;
}

/* A pipe that is full of other data: no buffer comes back.  Returns the amount. */
static int full_pipe(int fds[2])
{
	static const char other[65536];
	int size;

	assert_int_equal(pipe(fds), 0);
	size = fcntl(fds[1], F_SETPIPE_SZ, 4096);
	assert_in_range(size, 4096, sizeof(other));
	assert_int_equal(write(fds[1], other, (size_t)size), size);
	return size;
}

/* The number of the first record that had no room. */
static uint32_t put_until_full(struct logfile *l)
{
	for (uint32_t n = 1;; n++) {
		struct pmclog_ev u = userdata(n);

		if (logfile_put(l, n, &u))
			return n;
	}
}

/* Reads the data after the pipe's earlier contents. */
static void *reader_of(int fd, int size)
{
	static char other[65536];

	while (size > 0)
		size -= (int)read(fd, other, (size_t)size);
	assert_int_equal(size, 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return pmclog_open(fd);
}

/* A record may be longer than the pool's buffers. */
static void test_long_record(void **state)
{
	static struct pmclog_ev map = { .pl_type = PMCLOG_TYPE_MAP_IN }, ev;
	char path[LOGREC_PATH];
	int fds[2];
	struct logfile *l;
	void *p;

	assert_int_equal(pipe(fds), 0);
	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	memcpy(map.pl_u.pl_mi.pl_pathname, path, sizeof(path));
	l = open_log(fds[1], LOGDEST_PIPE, LOGFMT_NEW);
	assert_int_equal(logfile_put(l, LATER, &map), 0);
	assert_int_equal(logfile_put(l, LATER, &map), 0);
	logfile_free(l);
	until_reaped(pool, event);
	p = pmclog_open(fds[0]);
	assert_int_equal(pmclog_read(p, &ev), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pmclog_read(p, &ev), 0);
		assert_int_equal(ev.pl_type, PMCLOG_TYPE_MAP_IN);
		assert_string_equal(ev.pl_u.pl_mi.pl_pathname, path);
	}
	(void)pmclog_read(p, &ev);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_CLOSELOG);
	pmclog_close(p);
	close(fds[0]);
}

/* A log that ends without room records that: a gap, and its end. */
static void test_end_without_room(void **state)
{
	static struct pmclog_ev ev;
	uint32_t n, read = 0;
	int fds[2], size = full_pipe(fds);
	struct logfile *l = open_log(fds[1], LOGDEST_PIPE, LOGFMT_NEW);
	void *p;

	n = put_until_full(l);
	logfile_free(l);
	p = reader_of(fds[0], size);
	assert_int_equal(read_soon(p, &ev), 0);
	while (!read_soon(p, &ev) && ev.pl_type == PMCLOG_TYPE_USERDATA)
		assert_int_equal(ev.pl_u.pl_u.pl_userdata, ++read);
	assert_int_equal(read, n - 1);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_DROPNOTIFY);
	assert_int_equal(ev.pl_u.pl_dn.pl_lost, 1);
	assert_int_equal(read_soon(p, &ev), -1);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_CLOSELOG);
	pmclog_close(p);
	close(fds[0]);
	until_reaped(pool, event);
}

/* D12: a descriptor that would not block is waited for. */
static void test_nonblocking(void **state)
{
	static struct pmclog_ev ev;
	struct pmclog_ev u = userdata(5);
	int fds[2], records = 0;
	struct logfile *l;
	void *p;

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	fcntl(fds[1], F_SETPIPE_SZ, 4096);
	l = open_log(fds[1], LOGDEST_PIPE, LOGFMT_NEW);
	while (logfile_put(l, 1, &u) == 0)
		records++;
	logfile_free(l);
	p = pmclog_open(fds[0]);
	while (!read_soon(p, &ev))
		records -= ev.pl_type == PMCLOG_TYPE_USERDATA;
	assert_int_equal(ev.pl_state, PMCLOG_EOF);
	assert_int_equal(records, 0);
	pmclog_close(p);
	close(fds[0]);
	until_reaped(pool, event);
}

/* The reader of a socket sees the end although the owner keeps its descriptor. */
static void test_socket_end(void **state)
{
	struct pollfd p;
	char buf[256];
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	logfile_free(open_log(dup(fds[1]), LOGDEST_UNIX, LOGFMT_NEW));
	p = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	assert_int_equal(poll(&p, 1, 60000), 1);
	for (ssize_t n, sum = 0; (n = read(fds[0], buf, sizeof(buf))) != 0; sum += n)
		assert_true(n > 0 && sum < 1000);
	close(fds[0]);
	close(fds[1]);
	until_reaped(pool, event);
}

/* Time does not go back, whatever arrives late. */
static void test_late(void **state)
{
	struct pmclog_ev u = userdata(1), ev;
	int fd = temp_file();
	struct logfile *l = open_log(dup(fd), LOGDEST_FILE, LOGFMT_NEW);
	struct pmclog_ev_callchain c = { .pl_npc = 1 };
	uint64_t pc = 1;
	void *p;

	assert_int_equal(logfile_put(l, LATER, &u), 0);
	assert_int_equal(logfile_put(l, 5, &u), 0);
	assert_int_equal(logfile_callchain(l, LATER - 1, &c, &pc), 0);
	assert_int_equal(logfile_put(l, LATER + 1, &u), 0);
	logfile_free(l);
	until_reaped(pool, event);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	p = pmclog_open(fd);
	assert_int_equal(pmclog_read(p, &ev), 0);
	assert_int_equal(ev.pl_u.pl_i.pl_arch, PMC_CPU_INTEL_SKYLAKE);
	assert_true(labs(time(NULL) - ev.pl_ts.tv_sec) < 60);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(pmclog_read(p, &ev), 0);
		assert_true(ev.pl_tsc == LATER + (i == 3));
	}
	pmclog_close(p);
	close(fd);
}

/* A chain that is complete when `known` says so. */
struct late {
	struct log_late late;
	struct logfile *log;
	uint64_t pc;
	bool known, written;
};

static bool late_write(struct log_late *log_late, bool now)
{
	struct late *late = (struct late *)log_late;
	const struct pmclog_ev_callchain c = { .pl_npc = 1 };

	if (!late->known && !now)
		return false;
	assert_false(late->written);
	late->written = true;
	return !logfile_callchain(late->log, late->late.ns, &c, &late->pc);
}

static struct late late_of(struct logfile *l, uint64_t ns)
{
	return (struct late){ .late.write = late_write, .log = l, .pc = ns };
}

/* The rest of a log: user data and chains, numbered by their times from `ns` on. */
static void expect_records(int fd, uint64_t ns, uint32_t n)
{
	static struct pmclog_ev ev;
	void *p;

	until_reaped(pool, event);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	p = pmclog_open(fd);
	assert_int_equal(pmclog_read(p, &ev), 0);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(pmclog_read(p, &ev), 0);
		assert_true(ev.pl_tsc == ns + i);
		if (ev.pl_type == PMCLOG_TYPE_USERDATA)
			assert_int_equal(ev.pl_u.pl_u.pl_userdata, i);
		else
			assert_true(ev.pl_u.pl_cc.pl_pc[0] == ns + i);
	}
	(void)pmclog_read(p, &ev);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_CLOSELOG);
	pmclog_close(p);
	close(fd);
}

static void put_data(struct logfile *l, uint32_t i)
{
	struct pmclog_ev u = userdata(i);

	assert_int_equal(logfile_put(l, LATER + i, &u), 0);
}

/* Records wait behind a chain that is not complete; the end of the log ends that. */
static void test_deferred(void **state)
{
	int fd = temp_file();
	struct logfile *l = open_log(dup(fd), LOGDEST_FILE, LOGFMT_NEW);
	struct late late[3] = { late_of(l, LATER + 1), late_of(l, LATER + 2),
				late_of(l, LATER + 4) };

	put_data(l, 0);
	assert_false(logfile_is_late(l, LATER));
	assert_true(logfile_defer(l, LATER + 1, &late[0].late));
	assert_true(logfile_is_late(l, LATER + 1) && !logfile_is_late(l, LATER));
	assert_true(logfile_defer(l, LATER + 2, &late[1].late));
	put_data(l, 3);
	assert_true(logfile_defer(l, LATER + 4, &late[2].late));
	put_data(l, 5);
	/* The second one waits for the first. */
	late[1].known = true;
	logfile_release(l, false);
	assert_false(late[1].written);
	late[0].known = true;
	logfile_release(l, false);
	assert_true(late[0].written && late[1].written && !late[2].written);
	/* Only the third one still waits, and the record behind it. */
	assert_true(logfile_is_late(l, LATER + 4) && !logfile_is_late(l, LATER + 3));
	until_written(l, logfile_flush(l));
	put_data(l, 6);
	logfile_free(l);
	assert_true(late[2].written);
	expect_records(fd, LATER, 7);
	assert_int_equal(logs_users.used[POOL_LATE], 0);
}

/* Without memory for more records nothing waits, and nothing is lost. */
static void test_deferred_bound(void **state)
{
	int fd = temp_file();
	struct logfile *l;
	struct late late;
	uint32_t n = 1;

	user_pool(&logs_users, POOL_LATE, 100);
	l = open_log(dup(fd), LOGDEST_FILE, LOGFMT_NEW);
	late = late_of(l, LATER);
	assert_true(logfile_defer(l, LATER, &late.late));
	while (!late.written)
		put_data(l, n++);
	assert_in_range(n, 1000, 100 * 1024 / 24);
	assert_false(logfile_is_late(l, LATER + n));
	put_data(l, n++);
	logfile_free(l);
	expect_records(fd, LATER, n);
	assert_int_equal(logs_users.used[POOL_LATE], 0);
}

/* Each number once; a log remembers so many, and then begins anew. */
static void test_names(void **state)
{
	struct logfile *l = open_log(temp_file(), LOGDEST_FILE, LOGFMT_NEW);

	for (uint32_t i = 0; i < 65536; i++) {
		assert_true(logfile_names(l, i));
		assert_false(logfile_names(l, i));
	}
	assert_false(logfile_names(l, 0));
	assert_true(logfile_names(l, 65536));
	assert_false(logfile_names(l, 65536));
	assert_true(logfile_names(l, 0));
	assert_false(logfile_names(l, 0));
	logfile_free(l);
	until_reaped(pool, event);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_burst), T(test_names), T(test_late), T(test_long_record),
		T(test_end_without_room), T(test_nonblocking), T(test_socket_end), T(test_deferred),
		T(test_deferred_bound),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

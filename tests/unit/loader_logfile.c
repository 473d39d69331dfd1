/* SPDX-License-Identifier: BSD-2-Clause */
/* Logs as they are written: bytes of both formats, order, gaps, errors, readers that do not. */
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

#include "../../loader/logfile.h"
#include "loader/reaped.h"
#include "unit.h"

#define LATER (1ull << 62)	/* ns: behind INITIALIZE, which has the time of day */
#define PATIENCE_NS 50000000u	/* logpool.c's */

static struct logpool *pool;
static int event;
static struct why why;

static int set_up(void **state)
{
	const struct logpool_config config = { .buffers = 4, .size = 4096 };

	signal(SIGPIPE, SIG_IGN);
	return logpool_new(&pool, &config, &event, &why);
}

static int tear_down(void **state)
{
	logpool_free(pool);
	return 0;
}

static struct logfile *open_log(int fd, enum logfmt format)
{
	struct logfile *l = NULL;

	assert_int_equal(logfile_new(pool, fd, format, PMC_CPU_INTEL_SKYLAKE, "GenuineIntel-6-5E-3",
				     &l, &why), 0);
	return l;
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

/* The record of one event, without its prefix's time, as the encoder makes it. */
static void expect_bytes(enum logfmt format, const struct pmclog_ev *ev, const char *hex)
{
	struct logclock clock = { .format = format };
	uint64_t ns = format == LOGFMT_OLD ? 0x5a000000ull * 1000000000 + 200000000 :
					     0x0000012345678900ull;
	uint8_t record[LOGREC_MAX];
	size_t len;

	memset(record, 0x5a, sizeof(record));
	len = logrec_encode(record, &clock, ns, ev);
	for (size_t i = 0; i < len; i++) {
		unsigned int byte;

		while (*hex == ' ')
			hex++;
		/* What is not listed any more is zero. */
		if (!*hex)
			byte = 0;
		else
			assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		hex += *hex ? 2 : 0;
		if (record[i] != byte)
			fail_msg("type %d, byte 0x%zx: %02x, not %02x", ev->pl_type, i, record[i],
				 byte);
	}
	assert_true(!*hex);
}

/* The examples of the formats' description. */
static void test_bytes(void **state)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_INITIALIZE };

	ev.pl_u.pl_i.pl_version = 0x03010000;
	ev.pl_u.pl_i.pl_arch = 0x91;
	expect_bytes(LOGFMT_OLD, &ev, "140002ee0000005a00c2eb0b0000010391000000");
	ev.pl_u.pl_i.pl_version = 0x0a000000;
	ev.pl_u.pl_i.pl_arch = 0x98;
	ev.pl_u.pl_i.pl_tsc_freq = 2400000000;
	ev.pl_u.pl_i.pl_ts.tv_sec = 1700000000;
	ev.pl_u.pl_i.pl_ts.tv_nsec = 500000000;
	strcpy(ev.pl_u.pl_i.pl_cpuid, "GenuineIntel-6-5E-3");
	expect_bytes(LOGFMT_NEW, &ev,
		     "700003ee00000000 0089674523010000 0000000a98000000 00180d8f00000000"
		     "00f1536500000000 0065cd1d00000000 47656e75696e6549 6e74656c2d362d35"
		     "452d3300");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_PMCALLOCATEDYN;
	ev.pl_u.pl_ad.pl_pmcid = 0xff020f00;
	ev.pl_u.pl_ad.pl_event = 0x20000;
	ev.pl_u.pl_ad.pl_flags = 0x80;
	strcpy(ev.pl_u.pl_ad.pl_evname, "CLOCK.HARD");
	expect_bytes(LOGFMT_OLD, &ev, "580011ee0000005a 00c2eb0b000f02ff 0000020080000000"
		     "434c4f434b2e4841 5244");
	expect_bytes(LOGFMT_NEW, &ev, "600011ee00000000 0089674523010000 000f02ff00000200"
		     "8000000000000000 434c4f434b2e4841 5244");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_PROCEXEC;
	ev.pl_u.pl_x.pl_pid = 1234;
	ev.pl_u.pl_x.pl_pmcid = 0xff020f00;
	ev.pl_u.pl_x.pl_entryaddr = 0x400580;
	ev.pl_u.pl_x.pl_baseaddr = 0x7f1200000000;
	ev.pl_u.pl_x.pl_dynaddr = 0x555500000000;
	strcpy(ev.pl_u.pl_x.pl_pathname, "/bin/ls");
	expect_bytes(LOGFMT_OLD, &ev, "240009ee0000005a 00c2eb0bd2040000 8005400000000000"
		     "000f02ff2f62696e 2f6c7300");
	expect_bytes(LOGFMT_NEW, &ev, "300009ee00000000 0089674523010000 d2040000000f02ff"
		     "00000000127f0000 0000000055550000 2f62696e2f6c7300");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_CALLCHAIN;
	ev.pl_u.pl_cc = (struct pmclog_ev_callchain){
		.pl_pid = 1234, .pl_tid = 100123, .pl_pmcid = 0xfff20711, .pl_cpuflags = 0x20001,
		.pl_npc = 3, .pl_pc = { 0x555500001612, 0x5555000016a0, 0x555500001598 },
	};
	expect_bytes(LOGFMT_NEW, &ev, "380010ee00000000 0089674523010000 d20400001b870100"
		     "1107f2ff01000200 1216000055550000 a016000055550000 9815000055550000");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_PROCEXIT;
	ev.pl_u.pl_e.pl_pmcid = 0xff030711;
	ev.pl_u.pl_e.pl_pid = 1234;
	ev.pl_u.pl_e.pl_value = 123456789;
	expect_bytes(LOGFMT_OLD, &ev,
		     "1c000aee0000005a 00c2eb0b110703ff 15cd5b0700000000 d2040000");
	memset(&ev, 0, sizeof(ev));
	ev.pl_type = PMCLOG_TYPE_THR_CREATE;
	ev.pl_u.pl_tc.pl_tid = 100123;
	ev.pl_u.pl_tc.pl_pid = 1234;
	strcpy(ev.pl_u.pl_tc.pl_tdname, "worker-1");
	expect_bytes(LOGFMT_NEW, &ev, "340012ee00000000 0089674523010000 1b870100d2040000"
		     "0000000000000000 776f726b65722d31 00");
	expect_bytes(LOGFMT_OLD, &ev, "");	/* no such record */
}

/* The note behind a mapping's path, in both formats; left out where a reader would not take it. */
static void test_buildid(void **state)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_MAP_IN };
	struct pmclog_ev_map_in *mi = &ev.pl_u.pl_mi;
	struct logclock clock = { .format = LOGFMT_NEW };
	uint8_t bytes[2048];

	mi->pl_pid = 5;
	mi->pl_start = 0x400000;
	strcpy(mi->pl_pathname, "/bin/ls");
	mi->pl_buildidlen = 6;
	memcpy(mi->pl_buildid, "\1\2\3\4\5\6", 6);
	expect_bytes(LOGFMT_NEW, &ev, "40000eee00000000 0089674523010000 0500000000000000"
		     "0000400000000000 2f62696e2f6c7300 0400000006000000 03000000474e5500"
		     "0102030405060000");
	expect_bytes(LOGFMT_OLD, &ev, "38000eee0000005a 00c2eb0b05000000 0000400000000000"
		     "2f62696e2f6c7300 0400000006000000 03000000474e5500 0102030405060000");
	mi->pl_buildidlen = PMCLOG_BUILDID_MAX + 1;
	assert_int_equal(logrec_encode(bytes, &clock, 0, &ev), 40);
	mi->pl_buildidlen = PMCLOG_BUILDID_MAX;
	memset(mi->pl_pathname, 'x', LOGREC_PATH - 37);
	mi->pl_pathname[LOGREC_PATH - 37] = '\0';
	assert_int_equal(logrec_encode(bytes, &clock, 0, &ev), 32 + LOGREC_PATH);
	mi->pl_pathname[LOGREC_PATH - 37] = 'x';
	mi->pl_pathname[LOGREC_PATH - 36] = '\0';
	assert_int_equal(logrec_encode(bytes, &clock, 0, &ev), 32 + LOGREC_PATH - 32);
}

/* A sample's fast path makes the same bytes as the table does. */
static void test_callchain(void **state)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_CALLCHAIN };
	uint64_t pc[128];

	for (unsigned int npc = 0; npc <= 128; npc += 32)
		for (int format = 0; format < LOGFMTS; format++) {
			struct logclock clock = { .format = (enum logfmt)format, .to_wall = 77 };
			uint8_t slow[LOGREC_MAX], fast[LOGREC_MAX];
			size_t len;

			for (unsigned int i = 0; i < npc; i++)
				ev.pl_u.pl_cc.pl_pc[i] = pc[i] = 0x123456789abcull * (i + 1);
			ev.pl_u.pl_cc.pl_npc = (int)npc;
			ev.pl_u.pl_cc.pl_pid = 1;
			ev.pl_u.pl_cc.pl_tid = 2;
			ev.pl_u.pl_cc.pl_pmcid = 3;
			ev.pl_u.pl_cc.pl_cpuflags = 4;
			len = logrec_encode(slow, &clock, 1ull << 60, &ev);
			assert_int_equal(len, logrec_callchain_size(&clock, npc));
			logrec_callchain(fast, &clock, 1ull << 60, &ev.pl_u.pl_cc, pc);
			assert_memory_equal(slow, fast, len);
		}
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* False: the file took nothing for so long that it was no longer waited for. */
static bool burst(void)
{
	int err = 0, fd = temp_file();
	struct logfile *l = open_log(dup(fd), LOGFMT_NEW);

	for (uint32_t i = 0; i < 50000 && !err; i++) {
		struct pmclog_ev u = userdata(i);
		uint64_t before = now();

		err = logfile_put(l, LATER + i, &u);
		if (err) {
			assert_int_equal(err, -ENOMEM);
			assert_true(now() - before >= PATIENCE_NS);
		}
	}
	if (!err) {
		until_written(l, logfile_flush(l));
		assert_int_equal(lseek(fd, 0, SEEK_END), 112 + 50000 * 24);
	}
	logfile_free(l);
	until_reaped(pool, event);
	close(fd);
	return !err;
}

/*
 * A burst of many times what the pool holds: a file is waited for, so that nothing is missing.  Its
 * thread may be without a CPU for longer, but not each time.
 */
static void test_burst(void **state)
{
	for (unsigned int i = 0; !burst(); i++)
		assert_true(i < 100);
}

/* REQ-078, C-15: INITIALIZE first, records in order over many buffers, CLOSELOG last. */
static void test_order(void **state)
{
	static struct pmclog_ev ev;

	for (int format = 0; format < LOGFMTS; format++) {
		int fd = temp_file();
		struct logfile *l = open_log(dup(fd), (enum logfmt)format);
		void *p = pmclog_open(fd);

		for (uint32_t i = 0; i < 5000; i++) {
			struct pmclog_ev u = userdata(i);

			if (logfile_put(l, LATER + i, &u)) {
				until_written(l, logfile_flush(l));
				assert_int_equal(logfile_put(l, LATER + i, &u), 0);
			}
			if (i % 100 == 0)
				until_written(l, logfile_flush(l));
		}
		logfile_free(l);
		until_reaped(pool, event);
		assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
		pmclog_close(p);
		p = pmclog_open(fd);
		assert_int_equal(pmclog_read(p, &ev), 0);
		assert_int_equal(ev.pl_type, PMCLOG_TYPE_INITIALIZE);
		assert_int_equal(ev.pl_u.pl_i.pl_arch, PMC_CPU_INTEL_SKYLAKE);
		assert_true(labs(time(NULL) - ev.pl_ts.tv_sec) < 60);
		for (uint32_t i = 0; i < 5000; i++) {
			assert_int_equal(pmclog_read(p, &ev), 0);
			if (ev.pl_type == PMCLOG_TYPE_DROPNOTIFY)
				assert_int_equal(pmclog_read(p, &ev), 0);
			assert_int_equal(ev.pl_u.pl_u.pl_userdata, i);
			if (format == LOGFMT_NEW)
				assert_true(ev.pl_tsc == LATER + i);
		}
		pmclog_read(p, &ev);
		assert_int_equal(ev.pl_type, PMCLOG_TYPE_CLOSELOG);
		pmclog_close(p);
		close(fd);
	}
}

/* REQ-082: what was buffered at a flush is in the file when the flush is done. */
static void test_flush(void **state)
{
	int fd = temp_file();
	struct logfile *l = open_log(dup(fd), LOGFMT_NEW);
	struct pmclog_ev u = userdata(1);

	assert_int_equal(lseek(fd, 0, SEEK_END), 0);
	until_written(l, logfile_flush(l));
	assert_int_equal(lseek(fd, 0, SEEK_END), 112);
	assert_int_equal(logfile_flush(l), logfile_written(l));	/* nothing is buffered */
	assert_int_equal(logfile_put(l, 1, &u), 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 112);
	until_written(l, logfile_flush(l));
	assert_int_equal(lseek(fd, 0, SEEK_END), 112 + 24);
	assert_int_equal(logfile_error(l, NULL), 0);
	logfile_free(l);
	until_reaped(pool, event);
	assert_int_equal(lseek(fd, 0, SEEK_END), 112 + 24 + 16);
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

/* A reader that sleeps: the pool runs dry, the gap is marked, nothing blocks. */
static void test_gap(void **state)
{
	static struct pmclog_ev ev;
	static char other[65536];
	uint32_t requests, failed_before, failed, before = 0, n = 0;
	int fds[2], gaps = 0, size;
	struct logfile *l;
	void *p;

	logpool_stats(pool, &requests, &failed_before);
	assert_int_equal(pipe(fds), 0);
	/* Full of something else: not a buffer comes back. */
	size = fcntl(fds[1], F_SETPIPE_SZ, 4096);
	assert_in_range(size, 4096, sizeof(other));
	assert_int_equal(write(fds[1], other, (size_t)size), size);
	l = open_log(fds[1], LOGFMT_NEW);
	for (;;) {
		struct pmclog_ev u = userdata(++n);

		if (logfile_put(l, n, &u))
			break;
	}
	for (int i = 0; i < 100; i++) {
		struct pmclog_ev u = userdata(++n);

		assert_int_equal(logfile_put(l, n, &u), -ENOMEM);
	}
	logpool_stats(pool, &requests, &failed);
	assert_true(failed > failed_before);
	assert_true(requests > failed);
	/* Once the reader reads there is room again. */
	while (size > 0)
		size -= (int)read(fds[0], other, (size_t)size);
	assert_int_equal(size, 0);
	assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	p = pmclog_open(fds[0]);
	assert_int_equal(read_soon(p, &ev), 0);
	for (int i = 0; i < 600000; i++) {
		struct pmclog_ev u = userdata(1000000);

		if (!logfile_put(l, n, &u))
			break;
		usleep(100);
		if (pmclog_read(p, &ev))	/* all is read, and the room not given back yet */
			assert_int_equal(ev.pl_state, PMCLOG_REQUIRE_DATA);
		else
			assert_int_equal(ev.pl_u.pl_u.pl_userdata, ++before);
	}
	logfile_free(l);
	while (!read_soon(p, &ev)) {
		if (ev.pl_type == PMCLOG_TYPE_DROPNOTIFY) {
			gaps++;
			assert_int_equal(read_soon(p, &ev), 0);
			assert_int_equal(ev.pl_u.pl_u.pl_userdata, 1000000);
		} else {
			assert_int_equal(ev.pl_u.pl_u.pl_userdata, ++before);
		}
	}
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_CLOSELOG);
	assert_int_equal(gaps, 1);
	pmclog_close(p);
	close(fds[0]);
	until_reaped(pool, event);
}

/* REQ-079, REQ-080: the first error stays, later records go nowhere and cost no buffer. */
static void expect_error(int fd, int error)
{
	struct logfile *l = open_log(fd, LOGFMT_NEW);
	struct pmclog_ev u = userdata(1);
	bool news = false;

	for (int i = 0; i < 60000 && !logfile_error(l, &news); i++) {
		if (!i)
			logfile_flush(l);
		usleep(1000);
	}
	assert_true(news);
	assert_int_equal(logfile_error(l, &news), error);
	assert_false(news);
	for (int i = 0; i < 10000; i++)
		assert_int_equal(logfile_put(l, 1, &u), -EPIPE);
	assert_int_equal(logfile_error(l, NULL), error);
	logfile_free(l);
	until_reaped(pool, event);
}

static void test_errors(void **state)
{
	int fds[2];

	expect_error(open("/dev/full", O_WRONLY | O_CLOEXEC), -ENOSPC);
	assert_int_equal(pipe(fds), 0);
	close(fds[0]);
	expect_error(fds[1], -EPIPE);
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
	l = open_log(fds[1], LOGFMT_NEW);
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
	logfile_free(open_log(dup(fds[1]), LOGFMT_NEW));
	p = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	assert_int_equal(poll(&p, 1, 60000), 1);
	for (ssize_t n, sum = 0; (n = read(fds[0], buf, sizeof(buf))) != 0; sum += n)
		assert_true(n > 0 && sum < 1000);
	close(fds[0]);
	close(fds[1]);
	until_reaped(pool, event);
}

/* Nobody reads and the daemon ends: the thread is not waited for for ever. */
static void test_stuck(void **state)
{
	const struct logpool_config config = { .buffers = 4, .size = 4096 };
	struct pmclog_ev u = userdata(1);
	struct logpool *mine;
	struct logfile *l;
	int fds[2], e;

	assert_int_equal(logpool_new(&mine, &config, &e, &why), 0);
	assert_int_equal(pipe(fds), 0);
	fcntl(fds[1], F_SETPIPE_SZ, 4096);
	assert_int_equal(logfile_new(mine, fds[1], LOGFMT_NEW, 0, "", &l, &why), 0);
	while (logfile_put(l, 1, &u) == 0)
		;
	logpool_free(mine);
	close(fds[0]);
}

/* C-8, and no file where the kernel minds who writes. */
static void test_check(void **state)
{
	int fds[2], fd = temp_file();

	assert_int_equal(logfile_check(fd, &why), 0);
	close(fd);
	assert_int_equal(logfile_check(fd, &why), -EBADF);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(logfile_check(fds[0], &why), -EBADF);
	assert_int_equal(logfile_check(fds[1], &why), 0);
	close(fds[0]);
	close(fds[1]);
	fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	assert_int_equal(logfile_check(fd, &why), 0);
	close(fd);
	fd = open("/proc/self/comm", O_WRONLY | O_CLOEXEC);
	assert_int_equal(logfile_check(fd, &why), -EBADF);
	close(fd);
	fd = open("/dev/zero", O_WRONLY | O_CLOEXEC);
	assert_int_equal(logfile_check(fd, &why), -EBADF);
	close(fd);
	fd = open("/tmp", O_PATH | O_CLOEXEC);
	assert_int_equal(logfile_check(fd, &why), -EBADF);
	close(fd);
}

/* Time does not go back, whatever comes late. */
static void test_late(void **state)
{
	struct pmclog_ev u = userdata(1), ev;
	int fd = temp_file();
	struct logfile *l = open_log(dup(fd), LOGFMT_NEW);
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
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(pmclog_read(p, &ev), 0);
		assert_true(ev.pl_tsc == LATER + (i == 3));
	}
	pmclog_close(p);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_buildid), cmocka_unit_test(test_callchain),
		cmocka_unit_test(test_burst), cmocka_unit_test(test_late),
		cmocka_unit_test(test_order), cmocka_unit_test(test_flush),
		cmocka_unit_test(test_gap), cmocka_unit_test(test_errors),
		cmocka_unit_test(test_nonblocking), cmocka_unit_test(test_socket_end),
		cmocka_unit_test(test_stuck), cmocka_unit_test(test_check),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

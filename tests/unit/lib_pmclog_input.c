/* SPDX-License-Identifier: BSD-2-Clause */
/* pmclog(3): logs in pieces of every size, cut everywhere, damaged and foreign. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "logbytes.h"

static void sample_log(struct bytes *b)
{
	new_init(b, 0x0a000000, 1000000000);
	new(b, 11, 8), u32(b, 1), u32(b, 2);
	new(b, 16, 16 + 16), u32(b, 2), u32(b, 2), u32(b, 7), u32(b, 1), u64(b, 3), u64(b, 4);
	new(b, 14, 16 + 8), u32(b, 2), u32(b, 0), u64(b, 5), text(b, "/bin/ls", 8);
	new(b, 1, 0);
}

#define SAMPLE_RECORDS 4	/* before CLOSELOG */

/* CLOSELOG ends a new log; data after it is read nevertheless. */
static void test_closelog(void **state)
{
	static struct bytes b;
	void *p = pmclog_open(PMCLOG_FD_NONE);

	sample_log(&b);
	new(&b, 13, 8), u32(&b, 1), u32(&b, 0);
	pmclog_feed(p, (char *)b.at, (int)b.len);
	for (int i = 1; i <= SAMPLE_RECORDS; i++) {
		assert_int_equal(pmclog_read(p, &ev), 0);
		assert_int_equal(ev.pl_count, i);
	}
	assert_int_equal(pmclog_read(p, &ev), -1);
	assert_int_equal(ev.pl_state, PMCLOG_EOF);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_CLOSELOG);
	assert_int_equal(pmclog_read(p, &ev), 0);
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_USERDATA);
	assert_int_equal(pmclog_read(p, &ev), -1);
	assert_int_equal(ev.pl_state, PMCLOG_REQUIRE_DATA);
	pmclog_close(p);
}

/* Fed in pieces of every size the log reads the same. */
static void test_pieces(void **state)
{
	static struct bytes b;

	sample_log(&b);
	for (size_t piece = 1; piece <= b.len; piece++) {
		void *p = pmclog_open(PMCLOG_FD_NONE);
		unsigned int records = 0;
		bool closed = false;
		size_t at = 0;

		while (!closed) {
			int err = pmclog_read(p, &ev);

			if (!err)
				records++;
			else if (ev.pl_state == PMCLOG_EOF)
				closed = true;
			else {
				size_t n = b.len - at < piece ? b.len - at : piece;
				/* A copy of just the size, so that a sanitizer sees any excess. */
				char *copy = malloc(n + !n);

				assert_int_equal(ev.pl_state, PMCLOG_REQUIRE_DATA);
				assert_true(n && copy);
				memcpy(copy, b.at + at, n);
				assert_int_equal(pmclog_feed(p, copy, (int)n), 0);
				at += n;
				while (!pmclog_read(p, &ev))
					records++;
				closed = ev.pl_state == PMCLOG_EOF;
				if (!closed)
					assert_int_equal(ev.pl_state, PMCLOG_REQUIRE_DATA);
				free(copy);
			}
		}
		assert_int_equal(records, SAMPLE_RECORDS);
		assert_int_equal(ev.pl_offset, b.len);
		pmclog_close(p);
	}
}

static int log_file(const struct bytes *b, size_t len)
{
	int fd = memfd_create("log", MFD_CLOEXEC);

	assert_int_equal(write(fd, b->at, len), len);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static int log_pipe(const struct bytes *b, size_t len)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], b->at, len), len);
	close(fds[1]);
	return fds[0];
}

/* Cut anywhere, as a file and as a pipe: all whole records, then the error. */
static void test_cut(void **state)
{
	static struct bytes b;
	size_t ends[SAMPLE_RECORDS + 1];

	sample_log(&b);
	for (size_t at = 0, n = 0; n <= SAMPLE_RECORDS; n++)
		at = ends[n] = at + (b.at[at] | b.at[at + 1] << 8);
	for (size_t len = 0; len < b.len * 2; len++) {
		size_t cut = len / 2, whole = 0;
		int fd = len % 2 ? log_pipe(&b, cut) : log_file(&b, cut);
		void *p = pmclog_open(fd);

		while (whole < SAMPLE_RECORDS && ends[whole] <= cut)
			whole++;
		for (size_t i = 0; i < whole; i++)
			assert_int_equal(pmclog_read(p, &ev), 0);
		assert_int_equal(pmclog_read(p, &ev), -1);
		if (whole && cut == ends[whole - 1]) {
			assert_int_equal(ev.pl_state, PMCLOG_EOF);
			assert_string_equal(pmclog_errstr(p), "");
		} else {
			assert_int_equal(ev.pl_state, PMCLOG_ERROR);
			assert_string_equal(pmclog_errstr(p), cut ?
					    "the log ends in the middle of a record" :
					    "the log is empty");
		}
		pmclog_close(p);
		close(fd);
	}
}

/* A file that grows is read on; one larger than the window is read through. */
static void test_growing_file(void **state)
{
	static struct bytes b;
	int fd;
	void *p;

	sample_log(&b);
	b.len -= 16;			/* no CLOSELOG */
	fd = log_file(&b, b.len);
	p = pmclog_open(fd);
	for (int i = 0; i < SAMPLE_RECORDS; i++)
		assert_int_equal(pmclog_read(p, &ev), 0);
	assert_int_equal(pmclog_read(p, &ev), -1);
	assert_int_equal(ev.pl_state, PMCLOG_EOF);
	b.len = 0;
	for (int i = 0; i < 1000; i++)
		new(&b, 13, 8), u32(&b, (uint32_t)i), u32(&b, 0);
	for (int i = 0; i < 1800; i++)	/* 43 MB: three windows */
		assert_int_equal(pwrite(fd, b.at, b.len, lseek(fd, 0, SEEK_END)), b.len);
	for (int i = 0; i < 1800 * 1000; i++) {
		if (pmclog_read(p, &ev) || ev.pl_u.pl_u.pl_userdata != (uint32_t)(i % 1000))
			fail_msg("record %d: state %d: %s", i, ev.pl_state, pmclog_errstr(p));
	}
	assert_int_equal(pmclog_read(p, &ev), -1);
	assert_int_equal(ev.pl_state, PMCLOG_EOF);
	assert_int_equal(ev.pl_count, SAMPLE_RECORDS + 1800 * 1000);
	pmclog_close(p);
	close(fd);
}

static void damaged(struct bytes *b, const char *why)
{
	void *p = pmclog_open(PMCLOG_FD_NONE);
	int err;

	assert_int_equal(pmclog_feed(p, (char *)b->at, (int)b->len), 0);
	do
		err = pmclog_read(p, &ev);
	while (!err);
	assert_int_equal(ev.pl_state, PMCLOG_ERROR);
	if (!strstr(pmclog_errstr(p), why))
		fail_msg("\"%s\" lacks \"%s\"", pmclog_errstr(p), why);
	assert_int_equal(pmclog_read(p, &ev), -1);	/* for good */
	assert_int_equal(ev.pl_state, PMCLOG_ERROR);
	assert_int_equal(pmclog_feed(p, (char *)b->at, 4), -1);
	pmclog_close(p);
}

static void test_foreign(void **state)
{
	static struct bytes b;

	b.len = 0, u32(&b, 0x700003ee), text(&b, "", 108);
	damaged(&b, "other byte order");
	b.len = 0, text(&b, "PERFILE2", 104);
	damaged(&b, "perf.data");
	b.len = 0, u32(&b, 0xee020060), text(&b, "", 92);
	damaged(&b, "2018");
	b.len = 0, text(&b, "\x7f" "ELF", 64);
	damaged(&b, "this is no log");
	old_init(&b), old(&b, 15, 12), u32(&b, 5), u32(&b, 1), u32(&b, 2);
	damaged(&b, "32-bit kernel");
	old_init(&b), old(&b, 14, 16), u32(&b, 5), u32(&b, 0x1000), text(&b, "/bin/ls", 8);
	damaged(&b, "32-bit kernel");
}

static void test_damage(void **state)
{
	static struct bytes b;

	new_init(&b, 0x0a000000, 0);
	damaged(&b, "clock");
	new_init(&b, 0x0a000000, 1), u32(&b, 0x11223344);
	damaged(&b, "0x11223344 where a record should begin");
	new_init(&b, 0x0a000000, 1), new(&b, 4, 16), text(&b, "", 16);
	damaged(&b, "unknown type 4");
	new_init(&b, 0x0a000000, 1), new(&b, 21, 16), text(&b, "", 16);
	damaged(&b, "unknown type 21");
	new_init(&b, 0x0a000000, 1), new(&b, 10, 12), text(&b, "", 12);
	damaged(&b, "has 28 bytes, not 32");
	new_init(&b, 0x0a000000, 1), u32(&b, 0xee0d0002), text(&b, "", 20);
	damaged(&b, "a record of 2 bytes");
	new_init(&b, 0x0a000000, 1), u32(&b, 0xee0d0019), text(&b, "", 32);
	damaged(&b, "a record of 25 bytes");
	new_init(&b, 0x0a000000, 1), new(&b, 16, 16 + 513 * 8), text(&b, "", 16 + 513 * 8);
	damaged(&b, "513 addresses");
	new_init(&b, 0x0a000000, 1), new(&b, 16, 16 + 12), text(&b, "", 28);
	damaged(&b, "call chain of 12 bytes");
	new_init(&b, 0x0a000000, 1), new(&b, 6, 8 + 4100), text(&b, "", 8 + 4100);
	damaged(&b, "a path of 4100 bytes");
}

/* Names and paths without their NUL end where their room does. */
static void test_unterminated(void **state)
{
	static struct bytes b;

	new_init(&b, 0x0a000000, 1);
	new(&b, 18, 36), u32(&b, 1), u32(&b, 1), u32(&b, 0), u32(&b, 0);
	text(&b, "01234567890123456789", 20);
	pmclog_close(first_record(&b, 0));
	assert_string_equal(ev.pl_u.pl_tc.pl_tdname, "0123456789012345678");
	new_init(&b, 0x0a000000, 1);
	new(&b, 6, 8 + 4), u32(&b, 1), u32(&b, 1), text(&b, "/abc", 4);
	pmclog_close(first_record(&b, 0));
	assert_string_equal(ev.pl_u.pl_t.pl_pathname, "/abc");
}

/* Any one byte changed: no crash, and never a read outside (a sanitizer watches the exact copy). */
static void test_every_byte(void **state)
{
	static struct bytes b;
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };

	sample_log(&b);
	for (size_t i = 0; i < b.len * sizeof(values); i++) {
		char *copy = malloc(b.len);
		void *p = pmclog_open(PMCLOG_FD_NONE);

		memcpy(copy, b.at, b.len);
		copy[i / sizeof(values)] = (char)values[i % sizeof(values)];
		pmclog_feed(p, copy, (int)b.len);
		while (!pmclog_read(p, &ev))
			assert_true(ev.pl_offset <= (off_t)b.len);
		pmclog_close(p);
		free(copy);
	}
}

static void test_feed_rules(void **state)
{
	static struct bytes b;
	void *p = pmclog_open(PMCLOG_FD_NONE);
	int fd;

	sample_log(&b);
	assert_int_equal(pmclog_feed(p, (char *)b.at, -1), -1);
	assert_int_equal(pmclog_feed(p, (char *)b.at, (int)b.len), 0);
	assert_int_equal(pmclog_feed(p, (char *)b.at, (int)b.len), -1);
	pmclog_close(p);
	fd = log_file(&b, b.len);
	p = pmclog_open(fd);
	assert_int_equal(pmclog_feed(p, (char *)b.at, (int)b.len), -1);
	pmclog_close(p);
	assert_int_equal(fcntl(fd, F_GETFD) < 0, 0);	/* the caller's */
	close(fd);
	p = pmclog_open(fd);
	assert_int_equal(pmclog_read(p, &ev), -1);
	assert_int_equal(ev.pl_state, PMCLOG_ERROR);
	assert_non_null(strstr(pmclog_errstr(p), "Bad file descriptor"));
	pmclog_close(p);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_closelog), T(test_pieces), T(test_cut), T(test_growing_file),
		T(test_foreign), T(test_damage), T(test_unterminated), T(test_every_byte),
		T(test_feed_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

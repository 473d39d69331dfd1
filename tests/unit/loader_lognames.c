/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of kernel functions in logs, over a file like /proc/kallsyms. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "loader/kernel/kernel.h"
#include "loader/log/kernel_names.h"
#include "tests/unit/loader/logs.h"
#include "tests/unit/loader/reaped.h"
#include "scratch.h"
#include "unit.h"

#define TEXT	 0xffffffff81000000ull
#define LATER	 (1ull << 62)	/* ns: behind INITIALIZE */
#define FUNCTION "ffffffff81000000 T _stext\nffffffff81001000 T first\nffffffff81002000 t second\n"

static struct reason why;
static int event, symbols;
static struct logpool *pool;
static char table_path[64];
static const struct engine *asked;	/* NULL: the kernel is not asked */
static unsigned int questions;
static int refused;
static const char *asked_name = "asked";

static void set_symbols(const char *text)
{
	assert_int_equal(ftruncate(symbols, 0), 0);
	assert_true(pwrite(symbols, text, strlen(text), 0) == (ssize_t)strlen(text));
}

static int set_up(void **state)
{
	const struct logpool_config config = {
		.buffers = 8, .size = 4096, .kallsyms = table_path, .engine = asked,
	};

	symbols = memfd_create("kallsyms", MFD_CLOEXEC);
	snprintf(table_path, sizeof(table_path), "/proc/self/fd/%d", symbols);
	set_symbols(FUNCTION);
	return logs_pool(&pool, config, &event, &why);
}

static int tear_down(void **state)
{
	logpool_free(pool);
	close(symbols);
	return 0;
}

static struct logfile *begin(int *fd, enum logfmt format)
{
	*fd = memfd_create("log", MFD_CLOEXEC);
	return logs_open(pool, dup(*fd), LOGDEST_FILE, format);
}

static void put(struct logfile *l, unsigned int n, const uint64_t *pc)
{
	const struct pmclog_ev_callchain c = { .pl_npc = (int)n };

	assert_int_equal(logfile_callchain(l, LATER, &c, pc), 0);
}

/* Runs the loop for so many ms. */
static void run_loop(int ms)
{
	if (poll(&(struct pollfd){ .fd = event, .events = POLLIN }, 1, ms) > 0)
		logpool_reap(pool);
}

static void until_written(struct logfile *l, uint64_t ticket)
{
	while (logfile_written(l) < ticket)
		run_loop(1);
}

/* The log is over: all is written. */
static void end(struct logfile *l)
{
	logfile_close(l);
	until_written(l, logfile_flush(l));
	logfile_free(l);
}

/* The log's summary, in order: names and their addresses, C for a chain, E for the end. */
static void summary(int fd, char *text, size_t size)
{
	static struct pmclog_ev ev;
	struct timespec last = { 0 };
	void *p;
	int err;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	p = pmclog_open(fd);
	*text = '\0';
	do {
		size_t used = strlen(text);

		err = pmclog_read(p, &ev);
		if (err && ev.pl_type != PMCLOG_TYPE_CLOSELOG)
			break;
		assert_true(ev.pl_ts.tv_sec >= last.tv_sec);
		last = ev.pl_ts;
		if (ev.pl_type == PMCLOG_TYPE_MAP_IN) {
			assert_int_equal(ev.pl_u.pl_mi.pl_pid, -1);
			snprintf(text + used, size - used, "%s@%llx ", ev.pl_u.pl_mi.pl_pathname,
				 (unsigned long long)ev.pl_u.pl_mi.pl_start & 0xffffff);
		} else if (ev.pl_type != PMCLOG_TYPE_INITIALIZE) {
			snprintf(text + used, size - used, "%s ",
				 ev.pl_type == PMCLOG_TYPE_CALLCHAIN ? "C" :
				 ev.pl_type == PMCLOG_TYPE_CLOSELOG ? "E" : "?");
		}
	} while (!err && ev.pl_type != PMCLOG_TYPE_CLOSELOG);
	pmclog_close(p);
}

static void expect_log(int fd, const char *expected)
{
	char text[4096];

	summary(fd, text, sizeof(text));
	assert_string_equal(text, expected);
	close(fd);
}

static void test_no_kernel(void **state)
{
	const uint64_t user = 0x7f0000001000, gap = TEXT - 0x1000;
	int fd;
	struct logfile *l = begin(&fd, LOGFMT_NEW);

	put(l, 1, &user);
	end(l);
	expect_log(fd, "C E ");
	/* In no function, in this table and in the next. */
	l = begin(&fd, LOGFMT_NEW);
	put(l, 1, &gap);
	end(l);
	expect_log(fd, "C E ");
}

/* The table is read when the first log needs it, and forgotten with the last. */
static void test_fresh(void **state)
{
	const uint64_t pc = TEXT + 0x1234;
	int fd;
	struct logfile *l = begin(&fd, LOGFMT_NEW);

	put(l, 1, &pc);
	end(l);
	expect_log(fd, "C [kernel.kallsyms]first@1000 E ");
	until_reaped(pool, event);
	set_symbols("ffffffff81001200 t other [module]\n");
	l = begin(&fd, LOGFMT_NEW);
	put(l, 1, &pc);
	end(l);
	expect_log(fd, "C [module]other@1200 E ");
	until_reaped(pool, event);
	set_symbols("0000000000000000 t other\n");
	l = begin(&fd, LOGFMT_NEW);
	put(l, 1, &pc);
	end(l);
	expect_log(fd, "C E ");
}

/* An unreadable table is reported once; one that hides its addresses, never. */
static void test_unreadable(void **state)
{
	const uint64_t pc = TEXT + 0x1234;
	char path[64], line[160];

	snprintf(path, sizeof(path), "%s", scratch_file("nowhere"));
	snprintf(line, sizeof(line), "4 logs lack names of kernel functions (%s): No such file or "
		 "directory\n", path);
	set_symbols("0000000000000000 t other\n");
	for (int i = 0; i < 3; i++) {
		int fd;
		struct logfile *l = begin(&fd, LOGFMT_NEW);

		put(l, 1, &pc);
		end(l);
		expect_log(fd, "C E ");
		assert_string_equal(logs_heard, i ? line : "");
		until_reaped(pool, event);
		strcpy(table_path, path);
	}
}

/* Reads new data, with an offset of its own: the log's writer uses fd's. */
static void summary_now(int fd, char *text, size_t size)
{
	char path[32];
	int copy;

	run_loop(10);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	copy = open(path, O_RDONLY | O_CLOEXEC);
	summary(copy, text, size);
	close(copy);
}

/* A log that has nothing more to write gets its names all the same. */
static void test_idle(void **state)
{
	const uint64_t pc = TEXT + 0x1234;
	char text[256] = "";
	int fd;
	struct logfile *l = begin(&fd, LOGFMT_NEW);

	put(l, 1, &pc);
	logfile_flush(l);
	for (int i = 0; i < 6000 && !strstr(text, "first"); i++)
		summary_now(fd, text, sizeof(text));
	assert_string_equal(text, "C [kernel.kallsyms]first@1000 ");
	end(l);
	expect_log(fd, "C [kernel.kallsyms]first@1000 E ");
}

/* The table's reader, if it waits for one that writes, gets this. */
static bool tell(const char *table)
{
	int fd = open(table_path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	assert_int_equal(write(fd, table, strlen(table)), strlen(table));
	close(fd);
	return true;
}

/*
 * A function missing in the table is looked up in the next one, which is read when the first is
 * old.
 */
static void test_again(void **state)
{
	const uint64_t known = TEXT + 0x1000, later = TEXT + 0x900000, never = TEXT - 0x100000;
	static char text[65536];
	bool told = false;
	struct logfile *l;
	int fd;

	snprintf(table_path, sizeof(table_path), "%s", scratch_file("kallsyms"));
	assert_int_equal(mkfifo(table_path, 0600), 0);
	l = begin(&fd, LOGFMT_NEW);
	put(l, 1, &known);
	put(l, 1, &later);
	put(l, 1, &never);
	logfile_flush(l);
	for (int i = 0; i < 6000 && !(told = tell(FUNCTION)); i++)
		run_loop(10);
	assert_true(told);
	*text = '\0';
	for (int i = 0; i < 6000 && !strstr(text, "first"); i++)
		summary_now(fd, text, sizeof(text));
	assert_non_null(strstr(text, "first@1000"));
	told = false;
	for (int i = 0; i < 6000 && !told; i++) {
		put(l, 1, &never);
		logfile_flush(l);
		usleep(10000);
		run_loop(0);
		told = tell(FUNCTION "ffffffff81900000 t later\t[late]\n");
	}
	assert_true(told);
	for (int i = 0; i < 6000 && !strstr(text, "late"); i++)
		summary_now(fd, text, sizeof(text));
	assert_non_null(strstr(text, "[late]later@900000"));
	end(l);
	close(fd);
}

/* More functions than the sets begin with. */
static void test_many(void **state)
{
	enum { N = 20000 };
	char *text = NULL;
	static struct pmclog_ev ev;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	unsigned int names = 0;
	struct logfile *l;
	int fd;
	void *p;

	for (unsigned int i = 0; i < N; i++)
		fprintf(f, "%016llx t f%u\n", TEXT + 64ull * i, i);
	fclose(f);
	set_symbols(text);
	free(text);
	l = begin(&fd, LOGFMT_NEW);
	for (unsigned int turn = 0; turn < 2; turn++)
		for (unsigned int i = 0; i < N; i++) {
			uint64_t pc = TEXT + 64ull * i + turn;

			put(l, 1, &pc);
			/* What the pool has room for at once. */
			if (i % 500 == 0)
				until_written(l, logfile_flush(l));
		}
	end(l);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	p = pmclog_open(fd);
	while (!pmclog_read(p, &ev))
		if (ev.pl_type == PMCLOG_TYPE_MAP_IN) {
			unsigned int i = (unsigned int)(ev.pl_u.pl_mi.pl_start - TEXT) / 64;
			char name[64];

			snprintf(name, sizeof(name), "[kernel.kallsyms]f%u", i);
			assert_string_equal(ev.pl_u.pl_mi.pl_pathname, name);
			names++;
		}
	assert_int_equal(ev.pl_type, PMCLOG_TYPE_CLOSELOG);
	assert_int_equal(names, N);
	pmclog_close(p);
	close(fd);
}

/* --- the search itself ------------------------------------------------------------------------ */

static void nothing_ready(void *arg) { }

/* A search whose log has an address. */
static struct name_search *search_new(struct kernel_names *n, const struct logclock *clock)
{
	const struct pmclog_ev_callchain chain = { .pl_npc = 1 };
	const uint64_t pc = TEXT + 0x1234;
	struct name_search *s = name_search_new(n, clock);
	uint8_t record[LOGREC_MAX];
	size_t size = logrec_callchain_size(clock, 1);

	assert_non_null(s);
	logrec_callchain(record, clock, 0, &chain, &pc);
	assert_int_equal(name_search_scan(s, record, size), size);
	return s;
}

/* The log's thread asks again while a name is due.  None is due before the table has been read. */
static void test_due(void **state)
{
	const struct logclock clock = { .format = LOGFMT_NEW };
	struct kernel_names *n = kernel_names_new(table_path, NULL, NULL, nothing_ready, NULL);
	const uint8_t *records;

	for (unsigned int i = 0; i < 2; i++) {
		struct name_search *s = search_new(n, &clock);

		assert_int_equal(name_search_records(s, &records), 0);
		assert_false(name_search_due(s));
		kernel_names_serve(n);
		while (kernel_names_news(n) == i)
			sched_yield();
		assert_true(name_search_due(s));
		assert_true(name_search_records(s, &records) > 0);
		assert_false(name_search_due(s));
		name_search_free(s);
	}
	kernel_names_free(n);
}

/* --- the kernel's answers --------------------------------------------------------------------- */

#define CHUNK 0x100u

/* The kernel has a function in each CHUNK, but in those with an odd number. */
int __wrap_kernel_symbols_find(const struct engine *e, const uint64_t *address, size_t n,
			       struct kernel_symbol *found);
int __wrap_kernel_symbols_find(const struct engine *e, const uint64_t *address, size_t n,
			       struct kernel_symbol *found)
{
	assert_ptr_equal(e, &why);
	assert_true(n <= ABI_SYMBOLS);
	for (size_t i = 0; i < n; i++) {
		const uint64_t chunk = (address[i] - TEXT) / CHUNK;

		found[i] = (struct kernel_symbol){ .size = CHUNK };
		if (chunk % 2)
			continue;
		found[i].start = TEXT + chunk * CHUNK;
		snprintf(found[i].name, sizeof(found[i].name), "%s%s%u",
			 chunk == 2 ? "[module]" : "", asked_name, (unsigned int)chunk);
		questions++;
	}
	return refused;
}

static int set_up_asked(void **state)
{
	questions = 0;
	refused = 0;
	asked = (const struct engine *)&why;
	return set_up(state);
}

static int tear_down_asked(void **state)
{
	asked = NULL;
	return tear_down(state);
}

/* The table is read only for an address that the kernel does not find. */
static void test_asked(void **state)
{
	const uint64_t inside[] = { TEXT + 4, TEXT + 2 * CHUNK + 8, TEXT + 9 };
	const uint64_t other = TEXT + CHUNK + 4;
	int fd;
	struct logfile *l;

	set_symbols("ffffffff81000000 T _stext\nffffffff81000100 t in_table\n");
	l = begin(&fd, LOGFMT_NEW);
	put(l, 3, inside);
	put(l, 3, inside);
	end(l);
	expect_log(fd, "C C [kernel.kallsyms]asked0@0 [module]asked2@200 E ");
	until_reaped(pool, event);
	assert_int_equal(questions, 3);
	l = begin(&fd, LOGFMT_NEW);
	put(l, 1, inside);
	put(l, 1, &other);
	end(l);
	expect_log(fd, "C C [kernel.kallsyms]asked0@0 [kernel.kallsyms]in_table@100 E ");
}

/* Another module's function may have the address later; the kernel's own stay. */
static void test_asked_again(void **state)
{
	const uint64_t pc[] = { TEXT + 4, TEXT + 2 * CHUNK + 8 };
	static char text[65536];
	int fd;
	struct logfile *l = begin(&fd, LOGFMT_NEW);

	put(l, 2, pc);
	until_written(l, logfile_flush(l));
	for (int i = 0; i < 6000 && !strstr(text, "asked2"); i++)
		summary_now(fd, text, sizeof(text));
	asked_name = "later";
	for (int i = 0; i < 6000 && !strstr(text, "later2"); i++) {
		put(l, 2, pc);
		until_written(l, logfile_flush(l));
		summary_now(fd, text, sizeof(text));
	}
	asked_name = "asked";
	end(l);
	close(fd);
	assert_non_null(strstr(text, "[kernel.kallsyms]asked0@0 "));
	assert_non_null(strstr(text, "[module]asked2@200 "));
	assert_non_null(strstr(text, "[module]later2@200 "));
	assert_null(strstr(text, "later0"));
}

/* A kernel that refuses, or hides its addresses. */
static void test_asked_in_vain(void **state)
{
	const uint64_t pc = TEXT + 4;
	int fd;
	struct logfile *l = begin(&fd, LOGFMT_NEW);

	refused = -EPERM;
	put(l, 1, &pc);
	end(l);
	expect_log(fd, "C [kernel.kallsyms]_stext@0 E ");
	until_reaped(pool, event);
	refused = 0;
	questions = 0;
	set_symbols("0000000000000000 T _stext\n");
	l = begin(&fd, LOGFMT_NEW);
	put(l, 1, &pc);
	end(l);
	expect_log(fd, "C E ");
	assert_int_equal(questions, 0);
}

/* Of several logs, more addresses than the kernel is asked for at a time. */
static void test_asked_many(void **state)
{
	enum { N = 3000, LOGS = 3 };
	struct logfile *l[LOGS];
	static char text[LOGS][N * 40];
	int fd[LOGS];

	for (unsigned int k = 0; k < LOGS; k++)
		l[k] = begin(&fd[k], LOGFMT_NEW);
	for (unsigned int i = 0; i < N; i++)
		for (unsigned int k = 0; k < LOGS; k++) {
			const uint64_t pc = TEXT + 2ull * i * CHUNK;

			put(l[k], 1, &pc);
			if (i % 100 == 0)
				until_written(l[k], logfile_flush(l[k]));
		}
	for (unsigned int k = 0; k < LOGS; k++) {
		end(l[k]);
		summary(fd[k], text[k], sizeof(text[k]));
		close(fd[k]);
		for (unsigned int i = 0; i < N; i++) {
			char name[64];

			snprintf(name, sizeof(name), "asked%u@%llx ", 2 * i,
				 2ull * i * CHUNK & 0xffffff);
			assert_non_null(strstr(text[k], name));
		}
	}
}

int main(void)
{
#define ASKED_TEST(test) cmocka_unit_test_setup_teardown(test, set_up_asked, tear_down_asked)
#define LOG_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		LOG_TEST(test_no_kernel), LOG_TEST(test_fresh), LOG_TEST(test_unreadable),
		LOG_TEST(test_idle), LOG_TEST(test_again), LOG_TEST(test_many),
		LOG_TEST(test_due),
		ASKED_TEST(test_asked), ASKED_TEST(test_asked_again),
		ASKED_TEST(test_asked_in_vain), ASKED_TEST(test_asked_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages on standard error have their priorities if the journal reads them, and only then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <cmocka.h>

#include "loader/base/messages.h"

static const struct messages foreground;
static int stream, kept;
static char heard[512];

/* Standard error is a file whose name JOURNAL_STREAM may have. */
static int setup(void **state)
{
	stream = memfd_create("stream", MFD_CLOEXEC);
	kept = dup(STDERR_FILENO);
	return stream < 0 || kept < 0 || dup2(stream, STDERR_FILENO) < 0;
}

static int teardown(void **state)
{
	dup2(kept, STDERR_FILENO);
	close(kept);
	close(stream);
	return 0;
}

static void journal_is(unsigned long inode_off)
{
	char text[64];
	struct stat st;

	assert_int_equal(fstat(stream, &st), 0);
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev,
		 (uintmax_t)st.st_ino + inode_off);
	assert_int_equal(setenv("JOURNAL_STREAM", text, 1), 0);
}

static const char *written(void)
{
	ssize_t n;

	fflush(stderr);
	n = pread(stream, heard, sizeof(heard) - 1, 0);
	heard[n < 0 ? 0 : n] = '\0';
	return heard;
}

static void test_journal(void **state)
{
	journal_is(0);
	messages_put(&foreground, LOG_ERR, "%s is there", "no file");
	messages_put_hwpmc(&foreground, LOG_INFO, "SOFT/16");
	messages_put(&foreground, LOG_DAEMON | LOG_DEBUG, "of a facility");
	messages_put(&foreground, LOG_WARNING, "one\ntwo");
	assert_string_equal(written(), "<3>pmcbpfd: no file is there\n<6>hwpmc: SOFT/16\n"
				       "<7>pmcbpfd: of a facility\n"
				       "<4>pmcbpfd: one\n<4>pmcbpfd: two\n");
}

/* A terminal, a file, or a child's standard error that goes elsewhere. */
static void test_elsewhere(void **state)
{
	unsetenv("JOURNAL_STREAM");
	messages_put(&foreground, LOG_ERR, "a");
	journal_is(1);
	messages_put(&foreground, LOG_ERR, "b");
	assert_int_equal(setenv("JOURNAL_STREAM", "8:", 1), 0);
	messages_put(&foreground, LOG_ERR, "c");
	assert_string_equal(written(), "pmcbpfd: a\npmcbpfd: b\npmcbpfd: c\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_elsewhere, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of KTR_VERBOSE: entries as text, formatted by libktr itself. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/ktr/ktr.h"
#include "unit.h"

static char line[KTR_LINE + 1];

/* The text of an entry with these types. */
static const char *said(const char *format, uint32_t argtypes, const uint64_t *parms,
			unsigned int n)
{
	static struct {
		struct ktr_site site;
		char file[8], format[400];
	} point = { .file = "file.c" };
	int pipes[2], old = dup(STDERR_FILENO);
	ssize_t got;

	snprintf(point.format, sizeof(point.format), "%s", format);
	point.site.ktr_fmt = (int32_t)(point.format - (char *)&point.site.ktr_fmt);
	point.site.ktr_file = (int32_t)(point.file - (char *)&point.site.ktr_file);
	point.site.ktr_line = 12;
	point.site.ktr_argtypes = argtypes;
	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	ktr_say_entry(3, (uintptr_t)&point.site, parms, n, 1);
	dup2(old, STDERR_FILENO);
	close(old);
	close(pipes[1]);
	got = read(pipes[0], line, sizeof(line) - 1);
	close(pipes[0]);
	assert_true(got >= 6);
	line[got] = '\0';
	assert_memory_equal(line, "cpu3 ", 5);
	assert_int_equal(line[got - 1], '\n');
	line[got - 1] = '\0';
	return line + 5;
}

static const char *one(const char *format, unsigned int type, uint64_t parm)
{
	return said(format, type, &parm, 1);
}

/* KTR-45, KTR-46, KTR-F05: a number is as wide as its argument was. */
static void test_numbers_have_their_width(void **state)
{
	assert_string_equal(one("%x", KTR_ARG_S32, (uint64_t)-1), "ffffffff");
	assert_string_equal(one("%x", KTR_ARG_S64, (uint64_t)-1), "ffffffffffffffff");
	assert_string_equal(one("%d", KTR_ARG_S32, (uint64_t)-1), "-1");
	assert_string_equal(one("%d", KTR_ARG_U32, 0xffffffff), "-1");
	assert_string_equal(one("%u", KTR_ARG_S32, (uint64_t)-1), "4294967295");
	assert_string_equal(one("%hhx", KTR_ARG_S8, (uint64_t)-1), "ff");
	assert_string_equal(one("%ld", KTR_ARG_S64, (uint64_t)-5), "-5");
	assert_string_equal(one("%llu", KTR_ARG_WORD, ~0ull), "18446744073709551615");
	assert_string_equal(one("%c", KTR_ARG_S32, 'k'), "k");
	assert_string_equal(one("%p", KTR_ARG_PTR, 0x1234), "0x1234");
	assert_string_equal(one("%f", KTR_ARG_FP, 1), "<fp?>");
}

/* KTR-47, KTR-48: widths of numbers, no precisions, no widths of strings. */
static void test_widths(void **state)
{
	assert_string_equal(one("%5d|", KTR_ARG_S32, 7), "    7|");
	assert_string_equal(one("%-5d|", KTR_ARG_S32, 7), "7    |");
	assert_string_equal(one("%08x", KTR_ARG_U32, 0xbeef), "0000beef");
	assert_string_equal(one("%.3d", KTR_ARG_S32, 7), "7");
	assert_string_equal(one("%20s|", KTR_ARG_PTR, (uintptr_t)"text"), "text|");
	assert_string_equal(one("%.2s|", KTR_ARG_PTR, (uintptr_t)"text"), "text|");
}

/* KTR-44, KTR-49: more conversions than arguments, "%%", "%b", a '%' at the end: as they are. */
static void test_odd_formats(void **state)
{
	assert_string_equal(one("%d %d", KTR_ARG_S32, 7), "7 %d");
	assert_string_equal(said("100%%", 0, NULL, 0), "100%");
	assert_string_equal(one("%d%", KTR_ARG_S32, 7), "7%");
	assert_string_equal(one("%", KTR_ARG_S32, 7), "%");
	assert_string_equal(one("%b %d", KTR_ARG_S32, 7), "%b 7");
	assert_string_equal(one("line\n", KTR_ARG_S32, 7), "line");
	assert_string_equal(one("%s", KTR_ARG_PTR, 0), "(null)");
}

/* A line has an end, wherever. */
static void test_long_lines(void **state)
{
	const char *text = "01234567890123456789012345678901234567890123456789"
			   "0123456789012345678901234567890123456789";
	uint64_t parms[5] = { (uintptr_t)text, (uintptr_t)text, (uintptr_t)text, (uintptr_t)text,
			      (uintptr_t)text };

	assert_int_equal(strlen(one("%s", KTR_ARG_PTR, (uintptr_t)text)), 79);
	assert_int_equal(strlen(said("%s%s%s%s%s", 0, parms, 5)), 5 * 79);
	assert_true(strlen(said("a text that is long enough for the arguments behind it to be cut: "
				"lines are of 512 characters at most, and these are five times 79: "
				"%s%s%s%s%s", 0, parms, 5)) < KTR_LINE);
	assert_true(strlen(one("%999999d", KTR_ARG_S32, 7)) < KTR_LINE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_have_their_width), cmocka_unit_test(test_widths),
		cmocka_unit_test(test_odd_formats), cmocka_unit_test(test_long_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of trace points: the output of each conversion for a word, and text left unchanged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/ktr_region.h>

#include "cli/trace/format.h"

#define INT	KTR_ARG_S32
#define UINT	KTR_ARG_U32
#define LONG	KTR_ARG_S64
#define PTR	KTR_ARG_PTR

static const char longest[] =
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678";

/* Only strings at these addresses can be read. */
static int fetch(void *arg, uint64_t address, char *to)
{
	static const char *const strings[] = { "", "name", "a\033[2J\nb", longest,
					       "gr\xc3\xbc\xc3\x9f",
					       "\xc2\x9b!\xff\xe2\x80\xae" };
	unsigned int *fetched = arg;

	if (fetched)
		(*fetched)++;
	if (address >= sizeof(strings) / sizeof(strings[0]))
		return -1;
	memcpy(to, strings[address], strlen(strings[address]));
	return (int)strlen(strings[address]);
}

static const char *line_of(const char *text, uint32_t argtypes, const uint64_t *words)
{
	static char line[FORMAT_ROOM + 1];
	const struct format_strings strings = { fetch, NULL };
	struct trace_format format;

	memset(line, '~', sizeof(line));
	assert_int_equal(format_compile(&format, text, argtypes, FORMAT_WORDS), 0);
	*format_line(&format, words, &strings, line) = '\0';
	format_free(&format);
	return line;
}

#define LINE(wanted, types, text, ...) \
	assert_string_equal(line_of(text, types, (const uint64_t[FORMAT_WORDS]){ __VA_ARGS__ }), \
			    wanted)
#define MINUS_1 UINT64_MAX

/* KTR-01 KTR-44 KTR-45: the conversions of the page, and those that C programs use besides. */
static void test_conversions(void **state)
{
	LINE("lpopen(dev=1f)", INT, "lpopen(dev=%x)", 0x1f);
	LINE("5 -5 5 5", INT | INT << 4 | UINT << 8 | INT << 12, "%d %d %u %i", 5, (uint64_t)-5, 5,
	     5);
	LINE("1F 17 0x1f 1f", 0, "%X %o %p %x", 0x1f, 017, 0x1f, 0x1f);
	LINE("x 100%", INT, "%c 100%%", 'x');
	LINE("no parameters", 0, "no parameters", 1);
	LINE("", 0, "", 1);
	LINE("1 2 3 4 5", 0, "%hhd %hd %ld %jd %zd", 1, 2, 3, 4, 5);
	LINE("1 2 3", 0, "%lld %td %qd", 1, 2, 3);
	LINE("2a then name", PTR << 4, "%x then %s", 0x2a, 1);
	LINE("0x0 0 0", 0, "%p %x %d", 0, 0, 0);
	LINE("ffffffffffffffff -9223372036854775808", 0, "%lx %ld", MINUS_1, 1ull << 63);
	LINE("123456789 100000000", 0, "%x %x", 0x123456789, 0x100000000);
}

/* KTR-46: a word is 64 bits; a number is as wide as it was declared. */
static void test_widths_of_types(void **state)
{
	LINE("ffffffff -1", INT | INT << 4, "%x %d", MINUS_1, MINUS_1);
	LINE("ffffffffffffffff", LONG, "%lx", MINUS_1);
	LINE("ffffffffffffffff", LONG, "%x", MINUS_1);
	LINE("4294967295 -1", UINT | UINT << 4, "%u %d", 0xffffffff, 0xffffffff);
	LINE("-1 ffffffff 255 ff",
	     KTR_ARG_S8 | KTR_ARG_S8 << 4 | KTR_ARG_U8 << 8 | KTR_ARG_U8 << 12,
	     "%d %x %d %x", 0xff, 0xff, MINUS_1, MINUS_1);
	LINE("-2 fffffffe 65534", KTR_ARG_S16 | KTR_ARG_S16 << 4 | KTR_ARG_U16 << 8, "%d %x %u",
	     0xfffe, 0xfffe, 0xfffffffe);
	LINE("0xffff800012345678", PTR, "%p", 0xffff800012345678);
	LINE("-1 18446744073709551615", 0, "%d %u", MINUS_1, MINUS_1);
	LINE("<fp?> <fp?> 3", KTR_ARG_FP | KTR_ARG_FP << 4, "%f %d %d", 1, 2, 3);
	LINE("<fp?> <fp?> 3", 0, "%e %8.3g %d", 1, 2, 3);
}

/* KTR-47: widths and flags of numbers count, precisions do not. */
static void test_fields(void **state)
{
	LINE("[   2a][2a   ][0002a]", 0, "[%5x][%-5x][%05x]", 0x2a, 0x2a, 0x2a);
	LINE("[   -5][-0005][-5   ]", 0, "[%5d][%05d][%-05d]", (uint64_t)-5, (uint64_t)-5,
	     (uint64_t)-5);
	LINE("[+5][ 5][+0005]", 0, "[%+d][% d][%+05d]", 5, 5, 5);
	LINE("[0x2a][0X2A][052][0][0x02a]", 0, "[%#x][%#X][%#o][%#x][%#05x]", 0x2a, 0x2a, 052, 0,
	     0x2a);
	LINE("[2a][   2a]", 0, "[%.8x][%5.1x]", 0x2a, 0x2a);
	LINE("[    7][7    ]", 0, "[%*d][%*d]", 5, 7, (uint64_t)-5, 7);
	LINE("[7]", 0, "[%.*d]", 3, 7);
	/* No field is wider than FORMAT_WIDTH. */
	assert_int_equal(strlen(line_of("%999999999999d", 0, (uint64_t[5]){ 1 })), FORMAT_WIDTH);
	assert_int_equal(strlen(line_of("%*d", 0, (uint64_t[5]){ INT32_MIN, 1 })), FORMAT_WIDTH);
}

/* KTR-48 KTR-76: of strings the width does not count; what cannot be read is (null). */
static void test_strings(void **state)
{
	LINE("[name][name][name]", PTR | PTR << 4 | PTR << 8, "[%9s][%-9s][%.2s]", 1, 1, 1);
	LINE("(null) ", PTR | PTR << 4, "%s %s", 4711, 0);
	assert_string_equal(line_of("%s", PTR, (uint64_t[5]){ 3 }), longest);
	assert_int_equal(strlen(longest), FORMAT_STRING);
	/* Two words are one text. */
	LINE("abcdefghijklmnop|5", KTR_ARG_TEXT, "%s|%d", 0x6867666564636261,
	     0x706f6e6d6c6b6a69, 5);
	LINE("1|abc|def|2", INT | KTR_ARG_TEXT << 4 | INT << 8, "%d|%s|def|%d", 1, 0x636261, 0, 2);
}

/* KTR-80: control characters of terminals are shown, not sent. */
static void test_control_characters(void **state)
{
	LINE("a\\x1b[2J\\nb", PTR, "%s", 2);
	LINE("gr\xc3\xbc\xc3\x9f", PTR, "%s", 4);
	LINE("\\xc2\\x9b!\\xff\\xe2\\x80\\xae", PTR, "%s", 5);
	LINE("\\x1b]0;title\\a", 0, "\033]0;title\a", 0);
	LINE("\\x00 \\x7f", 0, "%c %c", 0, 0x7f);
	LINE("\\r|\\x01bc", KTR_ARG_TEXT, "\r|%s", 0x636201);
	/* A line's own end is no part of it. */
	LINE("line", 0, "line\n", 0);
}

/* KTR-49: unknown conversions are printed as they are, and take no parameter. */
static void test_unknown_conversions(void **state)
{
	LINE("%b 1", 0, "%b %d", 1, 2);
	LINE("%n%y 1 %", 0, "%n%y %d %", 1);
	LINE("% 5q", 0, "% 5q", 1);
	LINE("%5", 0, "%5", 1);
	LINE("%l 1", 0, "%l %d", 1);
}

/* KTR-10: five parameters, whatever the format says. */
static void test_excess(void **state)
{
	struct trace_format format;

	LINE("1 2 3 4 5 %d %x", 0, "%d %d %d %d %d %d %x", 1, 2, 3, 4, 5);
	LINE("1 2 3 4 %s", KTR_ARG_TEXT << 16, "%d %d %d %d %s", 1, 2, 3, 4, 5);
	LINE("1 2 3 4 %*d", 0, "%d %d %d %d %*d", 1, 2, 3, 4, 5);
	assert_int_equal(format_compile(&format, "%d%d%d%d%d", 0, FORMAT_WORDS), 0);
	assert_false(format.excess);
	format_free(&format);
	assert_int_equal(format_compile(&format, "%d%d%d%d%d%d", 0, FORMAT_WORDS), 0);
	assert_true(format.excess);
	format_free(&format);
}

/* No line is longer than FORMAT_ROOM, and only FORMAT_TEXT bytes of a format are used. */
static void test_longest_line(void **state)
{
	static char text[2 * FORMAT_TEXT];
	size_t longest_line;

	memset(text, '\001', sizeof(text) - 1);
	longest_line = strlen(line_of(text, 0, (uint64_t[5]){ 0 }));
	assert_int_equal(longest_line, (size_t)4 * FORMAT_TEXT);
	for (unsigned int i = 0; i < 25; i++)
		text[i] = "%128d"[i % 5];
	longest_line = strlen(line_of(text, 0, (uint64_t[5]){ 0 }));
	assert_int_equal(longest_line, 5 * 128 + 4 * (FORMAT_TEXT - 25));
	assert_true(longest_line <= FORMAT_ROOM);
}

/* Every number of digits, against printf. */
static void test_numbers(void **state)
{
	uint64_t value = 0x123456789abcdef0;
	char wanted[128];

	for (unsigned int shift = 0; shift < 64; shift++) {
		uint64_t v = value >> shift;

		snprintf(wanted, sizeof(wanted), "%lx %lX %lu %ld %lo", v, v, v, -(long)v, v);
		LINE(wanted, 0, "%x %X %u %d %o", v, v, v, -v, v);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_conversions), T(test_widths_of_types), T(test_fields), T(test_strings),
		T(test_control_characters), T(test_unknown_conversions), T(test_excess),
		T(test_longest_line), T(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

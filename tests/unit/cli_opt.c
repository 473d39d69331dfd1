/* SPDX-License-Identifier: BSD-2-Clause */
/* The tools' parsers of command lines: CPU lists, times, option tables; and JSON's escapes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/common/cpulist.h"
#include "lib/base/json.h"
#include "cli/common/opt.h"

static void cpus_are(const char *text, const int *cpus, size_t count)
{
	struct cpulist list;
	int cpu = -1;

	assert_int_equal(cpulist_parse(text, &list), 0);
	for (size_t i = 0; i < count; i++) {
		cpu = cpulist_next(&list, cpu + 1);
		assert_int_equal(cpu, cpus[i]);
	}
	assert_int_equal(cpulist_next(&list, cpu + 1), -1);
}

#define CPUS(text, ...) cpus_are(text, (const int[]){ __VA_ARGS__ }, \
				 sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int))

static void good_cpu_lists(void **state)
{
	CPUS("0", 0);
	CPUS("3,1 2\t0", 0, 1, 2, 3);
	CPUS("  7,  ,7,", 7);
	CPUS("62-65,127,128", 62, 63, 64, 65, 127, 128);
	CPUS("0-1\n", 0, 1);
	CPUS("4094", 4094);
}

static void bad_cpu_lists(void **state)
{
	static const char *const texts[] = {
		"", " ", ",", "x", "1x", "1,x", "-1", "1-", "3-1", "1-2-3", "4095",
		"99999999999999999999", "0x1", "*", "+1", "1.5",
	};
	struct cpulist list;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(cpulist_parse(texts[i], &list), -EINVAL);
}

static void cpus_are_online(void **state)
{
	struct cpulist list;

	assert_int_equal(cpulist_online(&list), 0);
	assert_true(cpulist_next(&list, 0) >= 0);
}

static void times(void **state)
{
	static const char *const bad[] = {
		"", "0", "-1", "x", "1x", "nan", "inf", "1e300", "0.0001", "1 ",
	};
	double seconds = 0;

	assert_int_equal(opt_seconds("0.25", &seconds), 0);
	assert_true(seconds == 0.25);
	assert_int_equal(opt_seconds("3", &seconds), 0);
	assert_true(seconds == 3);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(opt_seconds(bad[i], &seconds), -EINVAL);
}

/* A command's options are not parsed. */
static void scanning_stops_at_the_command(void **state)
{
	static const struct opt table[] = {
		{ 'p', "process-pmc", "EVENT", "" },
		{ 'd', NULL, NULL, "" },
		{ OPT_JSON, "json", NULL, "" },
	};
	char *argv[] = { "t", "-dp", "x", "--json", "--process-pmc=y", "cmd", "-d", "--json",
			 NULL };
	struct opt_scan scan;

	opt_compile(&scan, table, 3, sizeof(table[0]));
	assert_string_equal(scan.letters, "+:p:d");
	optind = 0;
	assert_int_equal(opt_next(&scan, 8, argv), 'd');
	assert_int_equal(opt_next(&scan, 8, argv), 'p');
	assert_string_equal(optarg, "x");
	assert_int_equal(opt_next(&scan, 8, argv), OPT_JSON);
	assert_int_equal(opt_next(&scan, 8, argv), 'p');
	assert_string_equal(optarg, "y");
	assert_int_equal(opt_next(&scan, 8, argv), -1);
	assert_string_equal(argv[optind], "cmd");
}

static void escapes(void **state)
{
	static const char *const pairs[][2] = {
		{ "plain", "\"plain\"" },
		{ "\"\\/", "\"\\\"\\\\/\"" },
		{ "\b\f\n\r\t\x01\x1f\x7f", "\"\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\"" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ "\xff|\xc3|\xe2\x82", "\"\\ufffd|\\ufffd|\\ufffd\\ufffd\"" },
		{ "\xc0\xaf", "\"\\ufffd\\ufffd\"" },			/* overlong */
		{ "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },	/* a surrogate */
		{ "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },	/* beyond Unicode */
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct buf out = { 0 };
		struct json json = { .out = &out };

		json_string(&json, NULL, pairs[i][0]);
		buf_add(&out, "", 1);
		assert_string_equal(out.data, pairs[i][1]);
		buf_free(&out);
	}
}

static void json_nesting(void **state)
{
	struct buf out = { 0 };
	struct json json = { .out = &out };

	json_open(&json, NULL, '{');
	json_open(&json, "a", '[');
	json_close(&json, ']');
	json_open(&json, "b", '[');
	json_number(&json, NULL, UINT64_MAX);
	json_null(&json, NULL);
	json_open(&json, NULL, '{');
	json_close(&json, '}');
	json_close(&json, ']');
	json_bool(&json, "c\n", true);
	json_string(&json, "d", NULL);
	json_seconds(&json, "e", 1.5);
	json_close(&json, '}');
	buf_add(&out, "", 1);
	assert_string_equal(out.data, "{\"a\":[],\"b\":[18446744073709551615,null,{}],"
				      "\"c\\n\":true,\"d\":null,\"e\":1.500000}");
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_cpu_lists),
		cmocka_unit_test(bad_cpu_lists),
		cmocka_unit_test(cpus_are_online),
		cmocka_unit_test(times),
		cmocka_unit_test(scanning_stops_at_the_command),
		cmocka_unit_test(escapes),
		cmocka_unit_test(json_nesting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

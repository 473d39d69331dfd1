/* SPDX-License-Identifier: BSD-2-Clause */
/* lib/base: numbers, reasons, lists of CPUs, and JSON in memory that grows and that does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/base/cpuranges.h"
#include "lib/base/json.h"
#include "lib/base/number.h"
#include "lib/base/reason.h"

static void test_number(void **state)
{
	const char *text = "12,0x1f";
	uint64_t v;

	errno = 77;
	assert_int_equal(number_parse("0x10", 0, UINT64_MAX, &v), 0);
	assert_int_equal(v, 16);
	assert_int_equal(number_parse("010", 0, UINT64_MAX, &v), 0);
	assert_int_equal(v, 8);
	assert_int_equal(number_parse("010", 10, UINT64_MAX, &v), 0);
	assert_int_equal(v, 10);
	assert_int_equal(number_parse("Ff", 16, UINT64_MAX, &v), 0);
	assert_int_equal(v, 255);
	assert_int_equal(number_parse("18446744073709551615", 0, UINT64_MAX, &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(number_parse("18446744073709551616", 0, UINT64_MAX, &v), -ERANGE);
	assert_int_equal(number_parse("255", 0, 255, &v), 0);
	assert_int_equal(number_parse("256", 0, 255, &v), -ERANGE);
	assert_int_equal(number_parse("", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(number_parse("-1", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(number_parse("+1", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(number_parse(" 1", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(number_parse("1x", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(number_parse("0x", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(number_parse("ff", 0, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(number_parse("-f", 16, UINT64_MAX, &v), -EINVAL);
	assert_int_equal(number_read(&text, 0, 99, &v), 0);
	assert_int_equal(v, 12);
	assert_int_equal(number_read(&text, 0, 99, &v), -EINVAL);
	assert_string_equal(text++, ",0x1f");
	assert_int_equal(number_read(&text, 0, 99, &v), 0);
	assert_int_equal(v, 31);
	assert_string_equal(text, "");
	assert_int_equal(errno, 77);
}

static void test_cpuranges(void **state)
{
	assert_true(cpuranges_has("0-3,7", 3));
	assert_true(cpuranges_has("0-3,7\n", 7));
	assert_false(cpuranges_has("0-3,7", 5));
	assert_false(cpuranges_has("", 0));
	assert_false(cpuranges_has("x,0", 0));
	assert_int_equal(cpuranges_end("0-3,7\n"), 8);
	assert_int_equal(cpuranges_end("8,0-3"), 9);
	assert_int_equal(cpuranges_end("0"), 1);
	assert_int_equal(cpuranges_end("\n"), 0);
}

static void put_object(struct buf *out)
{
	struct json json = { .out = out };

	json_open(&json, NULL, '{');
	json_string(&json, "a\"\n", "x\xff\001y");
	json_open(&json, "b", '[');
	json_number(&json, NULL, 12);
	json_null(&json, NULL);
	json_close(&json, ']');
	json_bool(&json, "c", true);
	json_close(&json, '}');
}

static void test_json(void **state)
{
	static const char whole[] =
		"{\"a\\\"\\n\":\"x\\ufffd\\u0001y\",\"b\":[12,null],\"c\":true}";
	const size_t len = sizeof(whole) - 1;
	struct buf grows = { 0 };
	char text[sizeof(whole) + 8];

	put_object(&grows);
	assert_false(grows.failed);
	assert_int_equal(grows.len, len);
	assert_memory_equal(grows.data, whole, len);
	buf_free(&grows);
	for (size_t size = 0; size < sizeof(text); size++) {
		struct buf fixed = BUF_FIXED(text, size);
		size_t fits = size < len ? size : len;

		memset(text, '#', sizeof(text));
		put_object(&fixed);
		assert_false(fixed.failed);
		assert_int_equal(fixed.len, len);
		assert_int_equal(text[size], '#');
		/* The last byte may be a NUL already. */
		assert_memory_equal(text, whole, fits ? fits - 1 : 0);
		assert_int_equal(buf_end(&fixed), len);
		if (size)
			assert_int_equal(text[size > len ? len : size - 1], '\0');
	}
}

static void test_reason_is_one_line(void **state)
{
	struct reason why;

	assert_int_equal(deny(&why, -EPERM, "%s", "a\nb\033[31mc\x7f"), -EPERM);
	assert_string_equal(why.text, "a?b?[31mc?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_cpuranges),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_reason_is_one_line),
	};

	return cmocka_run_group_tests_name("base_text", tests, NULL, NULL);
}

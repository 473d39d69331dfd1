/* SPDX-License-Identifier: BSD-2-Clause */
/* pctrd's numbers and names: requests, function words, options. */
#include <stddef.h>
#include <stdio.h>

#include <machine/pctr.h>

#include "pctr/function.h"
#include "pctr/options.h"
#include "pctr/request.h"
#include "unit.h"

static const struct messages quiet = { .background = true };

/* PCTR-07, PCTR-34: constants that sources have written out. */
static void test_constants(void **state)
{
	assert_int_equal(PCTR_NUM, 4);
	assert_int_equal(PCTR_UM_MESI, 0x0f00);
	assert_int_equal(sizeof(struct pctrst), 56);
	assert_int_equal(offsetof(struct pctrst, pctr_tsc), 16);
	assert_int_equal(offsetof(struct pctrst, pctr_hwc), 24);
}

/* PCTR-43, PCTR-04: both systems' numbers; unknown ones of the group, and those of others. */
static void test_request_numbers(void **state)
{
	static const struct {
		uint32_t number;
		int err, what;
	} table[] = {
		{ 0x80386301, 0, REQUEST_READ }, { 0x40386301, 0, REQUEST_READ },
		{ 0x40046308, 0, 0 }, { 0x80046308, 0, 0 }, { 0x40046309, 0, 1 },
		{ 0x80046309, 0, 1 }, { 0x4004630a, 0, 2 }, { 0x8004630a, 0, 2 },
		{ 0x4004630b, 0, 3 }, { 0x8004630b, 0, 3 }, { 0x4004630c, -EINVAL, 0 },
		{ 0x40046307, -EINVAL, 0 }, { 0x40026308, -EINVAL, 0 }, { 0xc0046308, -EINVAL, 0 },
		{ 0x6301, -EINVAL, 0 }, { 0x5401, -ENOTTY, 0 }, { 0x40046408, -ENOTTY, 0 },
		{ 0, -ENOTTY, 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		int what = 0;

		assert_int_equal(request_decode(table[i].number, &what), table[i].err);
		assert_int_equal(what, table[i].what);
	}
}

/*
 * PCTR-13, PCTR-20, PCTR-22, PCTR-23, PCTR-25, PCTR-28, PCTR-29, PCTR-30, PCTR-31, PCTR-32,
 * PCTR-33, PCTR-35, PCTR-37: the translation of each part of a word.
 */
static void test_words(void **state)
{
	static const struct {
		uint32_t fn;
		const char *x86, *arm;		/* after the PMU's name; NULL: no such function */
	} table[] = {
		{ 0x004300c0, "config=0xc0/", "config=0xc0/" },
		{ 0x004100c0, "config=0xc0/,usr", "config=0xc0/,usr" },
		{ 0x004200c0, "config=0xc0/,os", "config=0xc0/,os" },
		{ 0x004300ff, "config=0xff/", "config=0xff/" },
		{ 0x00430000, "config=0x0/", "config=0x0/" },
		{ PCTR_UM_M | 0x430024, "config=0x824/", "config=0x824/" },
		{ PCTR_UM_E | 0x430024, "config=0x424/", "config=0x424/" },
		{ PCTR_UM_S | 0x430024, "config=0x224/", "config=0x224/" },
		{ PCTR_UM_I | 0x430024, "config=0x124/", "config=0x124/" },
		{ PCTR_UM_MESI | 0x430024, "config=0xf24/", "config=0xf24/" },
		{ PCTR_UM_A | 0x430060, "config=0x2060/", "config=0x2060/" },
		{ 0x0043ffff, "config=0xffff/", "config=0xffff/" },
		{ 0x004700c0, "config=0x400c0/", NULL },
		{ 0x00c300c0, "config=0x8000c0/", NULL },
		{ 0x034300c0, "config=0x30000c0/", NULL },
		{ 0xffc700c0, "config=0xff8400c0/", NULL },
		{ 0xffc5ffff, "config=0xff84ffff/,usr", NULL },
		{ 0x004b00c0, NULL, NULL }, { 0x005300c0, NULL, NULL }, { 0x006300c0, NULL, NULL },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		static const enum vendor vendors[] = { VENDOR_INTEL, VENDOR_AMD, VENDOR_ARM };

		for (size_t v = 0; v < 3; v++) {
			const char *want = v == 2 ? table[i].arm : table[i].x86;
			char spec[FUNCTION_SPEC_MAX], wanted[FUNCTION_SPEC_MAX];

			assert_int_equal(function_check(vendors[v], table[i].fn),
					 want ? 0 : -EINVAL);
			assert_true(function_counts(table[i].fn));
			if (!want)
				continue;
			function_spec(vendors[v], table[i].fn, "cpu", spec, sizeof(spec));
			snprintf(wanted, sizeof(wanted), "cpu/%s", want);
			assert_string_equal(spec, wanted);
		}
	}
}

/* An option's value; a wrong one changes nothing. */
static void test_knobs(void **state)
{
	struct options o = { .set.width = 40, .intel_counters = 2 };

	assert_int_equal(options_knob(&o, "pctr.width=48", &quiet), 0);
	assert_int_equal(o.set.width, 48);
	assert_int_equal(options_knob(&o, "pctr.width=64", &quiet), 0);
	assert_int_equal(o.set.width, 64);
	assert_int_equal(options_knob(&o, "pctr.width=32", &quiet), -EINVAL);
	assert_int_equal(o.set.width, 64);
	assert_int_equal(options_knob(&o, "pctr.intel_counters=4", &quiet), 0);
	assert_int_equal(o.intel_counters, 4);
	assert_int_equal(options_knob(&o, "pctr.intel_counters=5", &quiet), -EINVAL);
	assert_int_equal(options_knob(&o, "pctr.scope=all", &quiet), 0);
	assert_true(o.set.all);
	assert_int_equal(options_knob(&o, "pctr.scope=cpu", &quiet), 0);
	assert_false(o.set.all);
	assert_int_equal(options_knob(&o, "pctr.en0=1", &quiet), 0);
	assert_int_equal(options_knob(&o, "pctr.keep_same=1", &quiet), 0);
	assert_int_equal(options_knob(&o, "pctr.soft=1", &quiet), 0);
	assert_true(o.set.en0 && o.set.keep_same && o.set.soft);
	assert_int_equal(options_knob(&o, "pctr.soft", &quiet), -EINVAL);
	assert_int_equal(options_knob(&o, "pctr.sof=1", &quiet), -EINVAL);
	assert_int_equal(options_knob(&o, "=1", &quiet), -EINVAL);
	assert_int_equal(options_knob(&o, "", &quiet), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_constants),
		cmocka_unit_test(test_request_numbers),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_knobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The suggestion for a mistyped word, and words without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "lib/base/nearest.h"

static const char *const names[] = {
	"PAGE_FAULT.ALL", "PAGE_FAULT.MAJOR", "TASK_CLOCK", "CPU_CLOCK", "CLOCK.HARD",
	"CONTEXT_SWITCHES", "TSC", "record", "report", "stat", "stat-system", "summary",
};

static const char *hint_of(const char *word)
{
	static struct nearest n;

	nearest_begin(&n, word);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		nearest_offer(&n, names[i]);
	return nearest_hint(&n, "");
}

static void test_one_slip_of_each_kind(void **state)
{
	assert_string_equal(hint_of("TASK_CLOK"), " (did you mean \"TASK_CLOCK\"?)");
	assert_string_equal(hint_of("TASK_CLOCKK"), " (did you mean \"TASK_CLOCK\"?)");
	assert_string_equal(hint_of("TUSK_CLOCK"), " (did you mean \"TASK_CLOCK\"?)");
	assert_string_equal(hint_of("TAKS_CLOCK"), " (did you mean \"TASK_CLOCK\"?)");
	assert_string_equal(hint_of("TCS"), " (did you mean \"TSC\"?)");
	assert_string_equal(hint_of("rcord"), " (did you mean \"record\"?)");
}

static void test_case_and_separators_are_no_slips(void **state)
{
	assert_string_equal(hint_of("page-fault-mayor"), " (did you mean \"PAGE_FAULT.MAJOR\"?)");
	assert_string_equal(hint_of("clock hrad"), " (did you mean \"CLOCK.HARD\"?)");
}

static void test_a_beginning_is_near(void **state)
{
	assert_string_equal(hint_of("context"), " (did you mean \"CONTEXT_SWITCHES\"?)");
	assert_string_equal(hint_of("page_fault"), " (did you mean \"PAGE_FAULT.ALL\"?)");
	assert_string_equal(hint_of("summ"), " (did you mean \"summary\"?)");
}

static void test_far_words_have_no_hint(void **state)
{
	char longer[3 * NEAREST_MAX];

	assert_string_equal(hint_of("nosuch"), "");
	assert_string_equal(hint_of("x"), "");
	assert_string_equal(hint_of(""), "");
	assert_string_equal(hint_of("list"), "");
	memset(longer, 'T', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_string_equal(hint_of(longer), "");
}

static void test_the_prefix_is_shown(void **state)
{
	struct nearest n;

	nearest_begin(&n, "flamgraph");
	nearest_offer(&n, "flamegraph");
	assert_string_equal(nearest_hint(&n, "--"), " (did you mean \"--flamegraph\"?)");
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
	const struct CMUnitTest tests[] = {
		T(test_one_slip_of_each_kind), T(test_case_and_separators_are_no_slips),
		T(test_a_beginning_is_near), T(test_far_words_have_no_hint),
		T(test_the_prefix_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

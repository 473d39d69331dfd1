/* SPDX-License-Identifier: BSD-2-Clause */
/* Places in filters that a kernel has refused; its carets are those of Linux 6.18. */
#include <string.h>

#include "loader/kernel/filter_place.h"
#include "unit.h"

static void the_place_is_where_the_filter_is_wrong(void **state)
{
	static const struct {
		const char *filter;
		size_t caret;
		const char *message, *rest;
	} cases[] = {
		{ "dfd=1", 4, "Invalid operator", "=1" },
		{ "dfd=", 4, "Invalid operator", "=" },
		{ "dfd", 3, "Invalid operator", "" },
		{ "dfd.bogus == 1", 4, "Invalid operator", ".bogus == 1" },
		{ "dfd == x", 8, "Invalid value (did you forget quotes)?", "x" },
		{ "dfd == ", 7, "Invalid value (did you forget quotes)?", "" },
		{ "dfd<>1", 5, "Invalid value (did you forget quotes)?", ">1" },
		{ "comm == ls", 9, "Invalid value (did you forget quotes)?", "ls" },
		{ "count > 99999999999999999999", 9, "Illegal integer value",
		  "99999999999999999999" },
		{ "flags==0 && dfd == -100", 20, "Illegal integer value", "-100" },
		{ "count == \"a\"", 10, "Expecting numeric field", "\"a\"" },
		{ "comm == 1", 9, "Expecting string field", "1" },
		{ "dfd ~ 1", 7, "Illegal operation for field type", "1" },
		{ "bogus == 1 ", 6, "Field not found", "bogus == 1 " },
		{ "dfd==1&&bogus==3", 14, "Field not found", "bogus==3" },
		{ "dfd.function == nosuch.fn", 25, "Function not found", "nosuch.fn" },
		{ "dfd == 9999999999999999999999999", 32, "Operand too long",
		  "9999999999999999999999999" },
		{ "comm == \"aaa\" || x", 13, "Operand too long", "\"aaa\" || x" },
		{ "CPU & CPUS{9-1}", 15, "Invalid cpulist", "9-1}" },
		{ "dfd == 1)", 8, "Too few '('", ")" },
		{ "(dfd == 1", 0, "Too many '('", "(dfd == 1" },
		{ "dfd == 'a", 7, "Missing matching quote", "'a" },
		{ "dfd == 1 dfd == 2", 9, "Too many terms in predicate expression", "dfd == 2" },
		{ "", 0, "Invalid operator", "" },
		{ "a", 500, "Meaningless filter expression", "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(cases[i].filter + filter_place(cases[i].filter, cases[i].caret,
								   cases[i].message),
				    cases[i].rest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_place_is_where_the_filter_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

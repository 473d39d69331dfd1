/* SPDX-License-Identifier: BSD-2-Clause */
/* The list of capabilities, in the code and in the unit. */
#include <stdio.h>
#include <stdlib.h>

#include "loader/base/caps.h"
#include "unit.h"

#define UNIT "packaging/systemd/pmcbpfd.service"

static void test_table(void **state)
{
	for (size_t i = 0; i < caps_nkept; i++) {
		assert_in_range(caps_kept[i].number, 0, 63);
		assert_true(strlen(caps_kept[i].reason) > 0);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(caps_kept[i].name, caps_kept[j].name);
	}
}

/* The unit grants what the daemon keeps, neither more nor less. */
static void test_unit(void **state)
{
	static const char key[] = "CapabilityBoundingSet=";
	FILE *f = fopen(UNIT, "re");
	char line[512];
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		char *rest = line + sizeof(key) - 1, *name;

		if (strncmp(line, key, sizeof(key) - 1))
			continue;
		while ((name = strsep(&rest, " \n"))) {
			bool known = false;

			for (size_t i = 0; i < caps_nkept && !known; i++)
				known = strcmp(caps_kept[i].name, name) == 0;
			if (*name && !known)
				fail_msg("%s: %s is not in loader/base/caps.c", UNIT, name);
			n += *name != '\0';
		}
	}
	fclose(f);
	assert_int_equal(n, caps_nkept);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table), cmocka_unit_test(test_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

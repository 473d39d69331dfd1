/* SPDX-License-Identifier: BSD-2-Clause */
/* The reason that is given for a program that the kernel refused. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "loader/kernel/verifier.h"
#include "unit.h"

/* The verifier's log contains kernel addresses. */
static void a_verifiers_log_shows_no_address(void **state)
{
	char log[] = "0: (18) r1 = 0xffff888103a4c200\n1: (b7) r2 = 0x40\n"
		     "2: (18) r3 = 0xffffc90000123000 0x\n";
	struct reason why;

	verifier_deny(&why, -EINVAL, "a program", log);
	assert_null(strstr(why.text, "ffff8881"));
	assert_null(strstr(why.text, "c9000"));
	assert_non_null(strstr(why.text, "0: (18) r1 = 0xxxxxxxxxxxxxxxxx;1: (b7) r2 = 0x40;2: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_verifiers_log_shows_no_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

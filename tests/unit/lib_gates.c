/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_gates() against a daemon that returns few gates, or a wrong number. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <pmc.h>

#include "fake_daemon.h"
#include "unit.h"

static int setup(void **state)
{
	static struct fake fake;

	fake_start(&fake);
	*state = &fake;
	return 0;
}

static int teardown(void **state)
{
	fake_stop(*state);
	return 0;
}

static void test_gates(void **state)
{
	struct fake *f = *state;
	struct pmc_gate *g;
	int n;

	expect_errno(pmc_gates(&g, &n), ENOSYS);
	assert_int_equal(pmc_init(), 0);
	expect_errno(pmc_gates(NULL, &n), EFAULT);
	expect_errno(pmc_gates(&g, NULL), EFAULT);
	assert_int_equal(pmc_gates(&g, &n), 0);
	assert_int_equal(n, 2);
	assert_string_equal(g[0].pg_name, "rows");
	assert_string_equal(g[0].pg_finding, "7 of?every CPU");
	assert_string_equal(g[0].pg_remedy, "wait");
	assert_int_equal(g[0].pg_state, PMC_GATE_LIMITS);
	assert_int_equal(strlen(g[1].pg_name), sizeof(g[1].pg_name) - 1);
	assert_int_equal(strlen(g[1].pg_finding), sizeof(g[1].pg_finding) - 1);
	assert_int_equal(strlen(g[1].pg_remedy), sizeof(g[1].pg_remedy) - 1);
	assert_int_equal(g[1].pg_state, PMC_GATE_LIMITS);	/* of a later daemon */
	free(g);
	for (unsigned int i = 0; i < 4; i++) {
		f->gates = (const uint32_t[]){ 1, 3, 0xffffffff, 0x01000002 }[i];
		expect_errno(pmc_gates(&g, &n), EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_gates, setup, teardown),
	};

	alarm(600);	/* a server that does not answer must not hang the build */
	return cmocka_run_group_tests_name("lib_gates", tests, NULL, NULL);
}

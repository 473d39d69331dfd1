/* SPDX-License-Identifier: BSD-2-Clause */
/* The start of every test of operations, and a check at its end that everything was given back. */
#ifndef PMCBPF_LOADER_FIXTURE_H
#define PMCBPF_LOADER_FIXTURE_H

#include <sys/pmc.h>

#include "harness.h"
#include "unit.h"

#define ROOT_PID 1000001
#define USER_PID 1000002
#define USER_UID 77

static struct actor root, user;

static int setup(void **state)
{
	fake_reset();
	harness_start();
	actor_join(&root, ROOT_PID, 0);
	actor_join(&user, USER_PID, USER_UID);
	return 0;
}

static int teardown(void **state)
{
	actor_leave(&root);
	actor_leave(&user);
	assert_int_equal(fake.counts, 0);
	assert_int_equal(fake.owners, 0);
	for (unsigned int i = 0; i < harness.rows.nrow; i++)
		assert_int_equal(row_disposition(&harness.rows.rows[i]), PMC_DISP_FREE);
	harness_stop();
	return 0;
}

#endif

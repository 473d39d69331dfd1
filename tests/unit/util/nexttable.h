/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of a table as the client makes them, without readers of earlier versions. */
#ifndef PMCBPF_NEXTTABLE_H
#define PMCBPF_NEXTTABLE_H

#include "lib/read/read.h"
#include "unit.h"

static inline void next_events(struct read_table *t, uint32_t pmcid, uint32_t generation,
			       const int *fds, unsigned int n, pid_t tid)
{
	struct read_table before = *t;

	assert_int_equal(read_table_events(t, pmcid, generation, fds, n, tid), 0);
	read_table_drop(&before, t, NULL);
}

#endif

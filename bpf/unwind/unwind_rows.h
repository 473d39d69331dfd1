/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Finds the rule for an address among the rows of its page. */
#ifndef PMCBPF_UNWIND_ROWS_H
#define PMCBPF_UNWIND_ROWS_H

#include "unwind_abi.h"

/* In BPF programs: rows are in arrays of this size, and the verifier has to see it. */
#ifndef UNWIND_ROW_MASK
#define UNWIND_ROW_MASK 0xffffffffu
#endif
#define UNWIND_ROW_STEPS 17		/* of a search among 65536 rows */

/* The rule of the last row at or below `low`; the first row is for 0. */
static inline __u32 unwind_row_find(const __u32 *rows, __u32 first, __u32 n, __u32 low)
{
	/* The length does not depend on the branch: the verifier sees one path instead of 2^17. */
	for (int i = 0; i < UNWIND_ROW_STEPS && n > 1; i++) {
		const __u32 half = n >> 1;

		if (UNWIND_ROW_LOW(rows[(first + half) & UNWIND_ROW_MASK]) <= low)
			first += half;
		n -= half;
	}
	return UNWIND_ROW_RULE(rows[first & UNWIND_ROW_MASK]);
}

#endif

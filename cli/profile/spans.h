/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking up an address among many overlapping ranges: symbols within symbols, units and functions
 * of debug information, JIT code over older code.
 *
 * Ranges are added in any order, each with a rank; where they overlap, the highest rank wins.
 * spans_sort() turns them into disjoint ranges in order, and spans_find() is a binary search.
 */
#ifndef PMCBPF_CLI_PROFILE_SPANS_H
#define PMCBPF_CLI_PROFILE_SPANS_H

#include <stddef.h>
#include <stdint.h>

struct span {
	uint64_t start, end;
	uint32_t rank;		/* the highest one wins */
	uint32_t item;
};

struct spans {
	struct span *span;	/* after spans_sort(): disjoint, in order */
	size_t n, room;
};

int spans_add(struct spans *s, struct span span);	/* 0 or -ENOMEM; empty ones are left out */
int spans_sort(struct spans *s);			/* 0 or -ENOMEM */
const struct span *spans_find(const struct spans *s, uint64_t address);
void spans_free(struct spans *s);

#endif

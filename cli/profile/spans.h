/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which of many overlapping ranges an address belongs to: symbols within symbols, units of debug
 * information, inlined functions, code that a JIT compiler has put where older code was.
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
	struct span *span;	/* after spans_sort(): apart, in order */
	size_t n, room;
};

int spans_add(struct spans *s, struct span span);	/* 0 or -ENOMEM; empty ones are left out */
int spans_sort(struct spans *s);			/* 0 or -ENOMEM */
const struct span *spans_find(const struct spans *s, uint64_t address);
void spans_free(struct spans *s);

#endif

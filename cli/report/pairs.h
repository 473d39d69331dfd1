/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A map from pairs of numbers to a number.  In some formats (pprof, speedscope, callgrind) parts
 * refer to each other by number; their writers use this map to number each part once: the pair
 * identifies the part, for example (pointer to a symbol, 0) or (caller, callee).
 */
#ifndef PMCBPF_CLI_REPORT_PAIRS_H
#define PMCBPF_CLI_REPORT_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/profile/profile.h"

struct number_pair {
	uint64_t a, b;
	uint32_t value;
};

struct pairs {
	struct index index;
	struct number_pair *list;
	size_t n, room;
};

/*
 * The value of a pair; 0 if the pair is new, and then the caller sets another.  Valid until the
 * next call.  NULL: no memory.
 */
uint32_t *pairs_at(struct pairs *pairs, uint64_t a, uint64_t b);
void pairs_free(struct pairs *pairs);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers for pairs: how a writer finds again what it has already begun. */
#ifndef PMCBPF_CLI_REPORT_PAIRS_H
#define PMCBPF_CLI_REPORT_PAIRS_H

#include <stddef.h>
#include <stdint.h>

#include "cli/profile/index.h"

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
 * The value of a pair: 0 if it is new, and then the caller gives it another.  Valid until the next
 * call.  NULL: no memory.
 */
uint32_t *pairs_at(struct pairs *pairs, uint64_t a, uint64_t b);
void pairs_free(struct pairs *pairs);

#endif

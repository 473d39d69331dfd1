/* SPDX-License-Identifier: BSD-2-Clause */
/* The breakpoint registers of the CPUs, as the kernel lets perf use them. */
#ifndef PMCBPF_BREAKPOINTS_H
#define PMCBPF_BREAKPOINTS_H

#include <stdbool.h>
#include <stdint.h>

#include "perf.h"

struct breakpoints {
	uint32_t data;		/* registers for reads and writes … */
	uint32_t code;		/* … and for executions; 0: the same registers serve both */
	bool reads;		/* reads can be counted without writes */
	bool any_length;	/* 1 to 8 bytes within 8 aligned ones; else 1, 2, 4 or 8 */
	bool short_code;	/* executions may have length 4 besides sizeof(long) */
	bool user_only;		/* user addresses: accesses by the kernel are not seen */
	bool repeats;		/* kernel addresses: an access may be reported twice */
	bool silent;		/* there are registers, but accesses are not counted */
	uint64_t given;		/* when the latest source was closed, ns; 0: none was */
};

/*
 * Finds out by opening events of this thread until one fails, and by accesses of its own; holds
 * nothing afterwards.
 */
void breakpoints_discover(struct breakpoints *b);

/* Why nothing can be counted; NULL: it can. */
const char *breakpoints_reason(const struct breakpoints *b);

/* The event of class BREAKPOINT; `type`: enum HW_BREAKPOINT_…. */
struct perf_event_spec breakpoints_spec(uint64_t address, uint64_t length, uint32_t type);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock of everything that is told or waited for. */
#ifndef PMCBPF_CLOCK_H
#define PMCBPF_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_read(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* In ns; the clock of the programs and of perf's records, too. */
static inline uint64_t clock_ns(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

#endif

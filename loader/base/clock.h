/* SPDX-License-Identifier: BSD-2-Clause */
/* The clock of all times in the daemon. */
#ifndef PMCBPF_CLOCK_H
#define PMCBPF_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_S 1000000000ull

static inline uint64_t clock_read(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* In ns; the programs and perf's records use the same clock. */
static inline uint64_t clock_ns(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The events that perf_event_open(2) names by itself, for every PMU that has them: ten of
 * PERF_TYPE_HARDWARE and 42 of PERF_TYPE_HW_CACHE, by the names that perf(1) uses.  The daemon
 * finds out which of them a PMU has; their numbers are the same on both sides of the socket.
 */
#ifndef PMCBPF_GENERIC_H
#define PMCBPF_GENERIC_H

#include <stdint.h>

#define GENERIC_EVENTS 52u

struct generic_event {
	const char *name;	/* L1-dcache-load-misses */
	const char *second;	/* another name that perf has for it, or NULL */
	const char *desc;
	uint32_t type;		/* perf_event_attr.type */
	uint64_t config;	/* … and config, without the number of a PMU */
};

extern const struct generic_event generic_events[GENERIC_EVENTS];

/* The event with this number, PMC_EV_PERF_FIRST and up, or NULL. */
const struct generic_event *generic_by_code(uint32_t code);

/* The number of a cache event: PERF_COUNT_HW_CACHE_… of the cache, operation and result. */
uint32_t generic_cache_code(unsigned int cache, unsigned int op, unsigned int result);

#endif

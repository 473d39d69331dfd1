/* SPDX-License-Identifier: BSD-2-Clause */
/* Events that are time: their units, and one scale for all of them. */
#ifndef PMCBPF_CLI_PROFILE_CLOCK_H
#define PMCBPF_CLI_PROFILE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The event of samples on one scale (struct filter): its unit is a nanosecond. */
#define CLOCK_WALL "WALL_TIME"

/* The ticks of the event in a second; 0: it is no time. */
uint64_t clock_hz(const char *event);

/*
 * … of the clock of CPU time that the specifier of an event names, which may be spelled otherwise
 * than in the log; 0: it names another event.
 */
uint64_t clock_hz_spec(const char *spec);

/* How an event that is time gets on the one scale. */
struct clock_scale {
	uint64_t hz;		/* its ticks in a second; 0: it is not there */
	uint64_t ns;		/* of its period */
};
/* False: the event is no time. */
bool clock_scale(struct clock_scale *scale, const char *event, uint64_t period);
/* So many ticks in ns. */
uint64_t clock_scale_ns(const struct clock_scale *scale, uint64_t ticks);
/* From one time of day to a later one, in ns; of a damaged log 0 to 292 years. */
uint64_t clock_since(const struct timespec *from, const struct timespec *to);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The weight of samples: events, or nanoseconds of a clock, by the period of their PMC. */
#include <string.h>

#include "frames.h"
#include "lib/base/clock_rates.h"

static const struct clock {
	const char *event;
	uint64_t hz;
} clocks[] = {
	{ "CLOCK.HARD", CLOCK_HARD_HZ },
	{ "CLOCK.STAT", CLOCK_STAT_HZ },
	{ "CLOCK.PROF", CLOCK_PROF_HZ },
	{ "CPU_CLOCK", 1000000000u },
	{ "TASK_CLOCK", 1000000000u },
};

static uint64_t clock_hz(const struct walk_event *event)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (strcmp(event->name, clocks[i].event) == 0)
			return clocks[i].hz;
	return 0;
}

bool event_is_clock(const struct walk_event *event)
{
	return clock_hz(event) != 0;
}

uint64_t event_weight(const struct walk_event *event, uint64_t samples)
{
	uint64_t weight, hz = clock_hz(event);

	if (__builtin_mul_overflow(samples, event->rate, &weight))
		return INT64_MAX;
	if (hz) {
		__uint128_t ns = (__uint128_t)weight * 1000000000u / hz;

		weight = ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
	}
	return weight > INT64_MAX ? INT64_MAX : weight;
}

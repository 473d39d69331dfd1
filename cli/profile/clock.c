/* SPDX-License-Identifier: BSD-2-Clause */
/* See clock.h. */
#include <stddef.h>
#include <string.h>

#include "clock.h"
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
	{ "OFFCPU_TIME", 1000000000u },
	{ CLOCK_WALL, 1000000000u },
};

uint64_t clock_hz(const char *event)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (strcmp(event, clocks[i].event) == 0)
			return clocks[i].hz;
	return 0;
}

uint64_t clock_scale_ns(const struct clock_scale *scale, uint64_t ticks)
{
	return (uint64_t)((__uint128_t)ticks * 1000000000u / scale->hz);
}

bool clock_scale(struct clock_scale *scale, const char *event, uint64_t period)
{
	scale->hz = clock_hz(event);
	scale->ns = scale->hz ? clock_scale_ns(scale, period) : 0;
	return scale->hz;
}

uint64_t clock_since(const struct timespec *from, const struct timespec *to)
{
	int64_t seconds, ns;

	if (__builtin_sub_overflow(to->tv_sec, from->tv_sec, &seconds) ||
	    __builtin_mul_overflow(seconds, INT64_C(1000000000), &ns) ||
	    __builtin_add_overflow(ns, to->tv_nsec - from->tv_nsec, &ns))
		return to->tv_sec > from->tv_sec ? INT64_MAX : 0;
	return ns > 0 ? (uint64_t)ns : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* See clock.h. */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "lib/base/clock_rates.h"

static const struct clock {
	const char *event;
	uint64_t hz;
	bool cpu;		/* it goes on while a thread runs */
} clocks[] = {
	{ "CLOCK.HARD", CLOCK_HARD_HZ, true },
	{ "CLOCK.STAT", CLOCK_STAT_HZ, true },
	{ "CLOCK.PROF", CLOCK_PROF_HZ, true },
	{ "CPU_CLOCK", 1000000000u, true },
	{ "TASK_CLOCK", 1000000000u, true },
	{ "OFFCPU_TIME", 1000000000u, false },
	{ CLOCK_WALL, 1000000000u, false },
};

uint64_t clock_hz(const char *event)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (strcmp(event, clocks[i].event) == 0)
			return clocks[i].hz;
	return 0;
}

/* As libpmc compares names: "-", "_", "." and " " are the same, and so are upper and lower case. */
static size_t clock_same(const char *spec, const char *name)
{
	size_t i = 0;

	for (; name[i]; i++)
		if (strchr("-_. ", name[i]) ? !spec[i] || !strchr("-_. ", spec[i]) :
		    tolower((unsigned char)spec[i]) != tolower((unsigned char)name[i]))
			return 0;
	return i;
}

uint64_t clock_hz_spec(const char *spec)
{
	spec += clock_same(spec, "SOFT-");
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		size_t len = clock_same(spec, clocks[i].event);

		if (clocks[i].cpu && len && (!spec[len] || strchr(",:", spec[len])))
			return clocks[i].hz;
	}
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

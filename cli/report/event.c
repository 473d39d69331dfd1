/* SPDX-License-Identifier: BSD-2-Clause */
/* See event.h. */
#include <string.h>

#include "event.h"
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

uint32_t event_first(const struct profile *p, uint32_t event)
{
	return walk_event(p->walk, event)->first;
}

uint64_t event_total(const struct profile *p, uint32_t first)
{
	uint64_t samples = 0;

	if (event_first(p, first) != first)
		return 0;
	for (uint32_t event = first; event < p->nevents; event++)
		if (event_first(p, event) == first)
			samples += p->event_samples[event];
	return samples;
}

size_t event_count(const struct profile *p)
{
	size_t n = 0;

	for (uint32_t event = 0; event < p->nevents; event++)
		n += event_total(p, event) > 0;
	return n;
}

static uint64_t clock_hz(const struct walk_event *event)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (strcmp(event->name, clocks[i].event) == 0)
			return clocks[i].hz;
	return 0;
}

const char *event_unit(const struct walk_event *event)
{
	return event->steered ? "events" : "samples";
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

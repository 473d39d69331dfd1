/* SPDX-License-Identifier: BSD-2-Clause */
/* See event.h. */
#include "event.h"

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

const char *event_unit(const struct walk_event *event)
{
	if (event->steered && event_is_clock(event))
		return "ns";
	return event->steered ? "events" : "samples";
}

bool event_is_clock(const struct walk_event *event)
{
	return clock_hz(event->name) != 0;
}

uint64_t event_weight(const struct walk_event *event, uint64_t samples)
{
	uint64_t weight, hz = clock_hz(event->name);

	if (__builtin_mul_overflow(samples, event->rate, &weight))
		return INT64_MAX;
	if (hz) {
		__uint128_t ns = (__uint128_t)weight * 1000000000u / hz;

		weight = ns > INT64_MAX ? INT64_MAX : (uint64_t)ns;
	}
	return weight > INT64_MAX ? INT64_MAX : weight;
}

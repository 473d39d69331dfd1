/* SPDX-License-Identifier: BSD-2-Clause */
/* See event.h. */
#include <string.h>

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

/* The first PMC of an event that has samples, or NULL; *several: others differ in the period. */
static const struct walk_event *event_sampled(const struct profile *p, uint32_t first,
					      bool *several)
{
	const struct walk_event *e, *one = NULL;

	*several = false;
	for (uint32_t i = first; i < p->nevents; i++) {
		if (event_first(p, i) != first || !p->event_samples[i])
			continue;
		e = walk_event(p->walk, i);
		one = one ? one : e;
		*several |= e->each || e->rate != one->rate;
	}
	return one;
}

const char *event_unit(const struct profile *p, uint32_t first)
{
	uint64_t hz = clock_hz(walk_event(p->walk, first)->name);
	bool several;
	const struct walk_event *one = event_sampled(p, first, &several);

	if (!one || !one->steered)
		return "samples";
	return !hz ? "events" : hz == 1000000000u ? "ns" : "ticks";
}

const char *event_unit_of_all(const struct profile *p)
{
	const char *unit, *all = NULL;
	size_t n = 0;

	for (uint32_t event = 0; event < p->nevents; event++) {
		if (!event_total(p, event))
			continue;
		unit = event_unit(p, event);
		if (n++ && (strcmp(unit, all) != 0 ||
			    (strcmp(unit, "samples") != 0 && strcmp(unit, "ns") != 0)))
			return NULL;
		all = unit;
	}
	return all ? all : "samples";
}

void event_put_period(struct buf *out, const struct profile *p, uint32_t first)
{
	uint64_t hz = clock_hz(walk_event(p->walk, first)->name);
	bool several;
	const struct walk_event *one = event_sampled(p, first, &several);

	if (several)
		buf_printf(out, one->steered ? ", in samples of several periods" :
			   ", of several periods");
	else if (one && one->steered && !hz)
		buf_printf(out, ", in samples at a steady rate");
	else if (one && one->rate && !one->steered)
		buf_printf(out, ", one every %llu", (unsigned long long)one->rate);
	if (one && one->steered && hz && hz != 1000000000u)
		buf_printf(out, ", %llu a second", (unsigned long long)hz);
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

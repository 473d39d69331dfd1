/* SPDX-License-Identifier: BSD-2-Clause */
/* See weight.h. */
#include "weight.h"

void weight_note(struct weight *next, const struct pmclog_ev_values *v)
{
	unsigned int n;
	const uint64_t *period = pmclog_value(v, PMCLOG_VALUE_PERIOD, &n);

	next->id = v->pl_pmcid;
	next->there = period;
	next->period = period ? *period : 0;
}

/* The weight of a clock's sample may be 0: the rest of a tick goes to the next one. */
uint64_t weight_take(struct weight *next, struct walk_event *event)
{
	bool steered = next->there && next->id == event->id;

	next->there = false;
	if (event->scale.hz)
		return steered ? clock_scale_ns(&event->scale, next->period) : event->scale.ns;
	if (!steered)
		return event->steered ? event->each : 1;
	event->steered = true;
	event->rate = 1;
	return next->period;
}

uint64_t weight_fix(struct walk_event *event)
{
	if (event->steered)
		return 1;
	event->steered = true;
	event->each = event->rate;
	event->rate = 1;
	return event->each;
}

void weight_scale(struct walk_event *event, const struct clock_scale *scale)
{
	event->steered = true;
	event->scale = *scale;
}

void weight_leave_out(struct walk_waits *sum, const struct pmclog_ev_waits *w)
{
	sum->below += w->pl_below;
	sum->below_ns += w->pl_below_ns;
	sum->dropped += w->pl_dropped;
	sum->dropped_ns += w->pl_dropped_ns;
	sum->unknown += w->pl_unknown;
}

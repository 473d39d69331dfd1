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
	if (!steered)
		return event->steered ? 0 : 1;
	event->steered = true;
	event->rate = 1;
	return next->period;
}

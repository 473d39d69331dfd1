/* SPDX-License-Identifier: BSD-2-Clause */
/* What every backend needs of a PMC. */
#include <errno.h>

#include "count_state.h"

/* The event that a PMC counts, or the software event that stands for it. */
struct perf_event_spec count_state_event(const struct count *c)
{
	struct perf_event_spec spec = c->spec.event;

	if (c->spec.kind == COUNT_SOFT)
		spec = (struct perf_event_spec){ .type = 1 /* PERF_TYPE_SOFTWARE */,
						 .config = c->spec.soft->perf_config,
						 .user = c->spec.user, .kernel = c->spec.kernel };
	spec.tag = c->spec.tag;
	return spec;
}

/*
 * CPU time in the event's ticks, energy in 2^-32 J; other figures as they are.  128 bits: a year of
 * PROF overflows 64.
 */
uint64_t count_state_scale(const struct count *c, uint64_t raw)
{
	if (c->spec.kind == COUNT_MSR)
		return raw << c->spec.shift;
	if (c->spec.kind != COUNT_SOFT || !c->spec.soft->rate)
		return raw;
	return (uint64_t)((__uint128_t)raw * c->spec.soft->rate / 1000000000u);
}

bool count_state_scales(const struct count *c)
{
	return count_state_scale(c, 1000000000u) != 1000000000u;
}

int count_state_away(const struct count *c, struct why *why)
{
	return c->away ? deny(why, -ENXIO, "CPU %u is offline", c->spec.cpu) : 0;
}

int count_state_lost(struct count *c, int err, struct why *why)
{
	c->lost = true;
	if (c->backend->deny_lost)
		return c->backend->deny_lost(c, err, why);
	if (c->lost_cpu >= 0)
		return deny(why, err, "CPU %d came online and ran processes of this PMC before row "
			    "%u (%s) had its counter there; stop, release and allocate again",
			    c->lost_cpu, c->spec.row, c->spec.row_name);
	if (c->spec.kind == COUNT_MSR)
		return deny(why, err, "row %u (%s): the register could not be read on some CPU: it "
			    "is not there, or not on the list any more; release the PMC",
			    c->spec.row, c->spec.row_name);
	return deny(why, err, "row %u (%s) lost its counter to another user of the PMU, whom "
		    "pmccontrol --doctor may name; release the PMC and allocate again",
		    c->spec.row, c->spec.row_name);
}

int count_state_hold(struct count *c, enum engine_need what, struct why *why)
{
	int err;

	if (c->needs >> what & 1)
		return 0;
	err = engine_need(c->e, what, why);
	if (!err)
		c->needs |= 1u << what;
	return err;
}

void count_state_unhold(struct count *c)
{
	for (unsigned int what = 0; what < NEEDS; what++)
		if (c->needs >> what & 1)
			engine_unneed(c->e, what);
	c->needs = 0;
}

bool count_state_self_only(const struct count *c)
{
	struct targets *ts = engine_targets(c->e);

	return !c->spec.descendants && target_number(ts, c) == 1 &&
	       target_row(ts, c->owner->tgid, c->spec.row) == c;
}

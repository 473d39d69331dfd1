/* SPDX-License-Identifier: BSD-2-Clause */
/* The period of a sampling PMC, in the owner's unit and in the kernel's. */
#include <errno.h>
#include <string.h>

#include "count_period.h"
#include "task_events.h"

#define PERIOD_MAX	 (1ull << 62)
#define CLOCK_PERIOD_MIN 10000u		/* ns, the minimum of perf's software clocks */

/*
 * A clock's period is in the PMC's ticks, and the kernel's clocks tick in nanoseconds.  A period
 * longer than the kernel's maximum cannot end within the machine's lifetime.
 */
uint64_t count_period(const struct count *c)
{
	uint64_t period = c->spec.period;

	if (!c->spec.sampling)
		return 0;
	if (!period)		/* not set yet: the PMC cannot start before */
		period = 1ull << 31;
	if (!c->spec.rate)
		return period < PERIOD_MAX ? period : PERIOD_MAX;
	if (period > PERIOD_MAX / NS_PER_S * c->spec.rate)
		return PERIOD_MAX;
	return (uint64_t)((__uint128_t)period * NS_PER_S / c->spec.rate);
}

void count_period_fill(const struct count *c, struct perf_event_spec *spec)
{
	const struct count_samples *s = &c->spec.samples;

	if (!c->spec.sampling)
		return;
	spec->period = s->hz ? 0 : count_period(c);
	spec->hz = s->hz;
	spec->sample_type = s->sample_type;
	spec->branch = s->branch;
	spec->precise = s->precise;
	spec->until_exec = s->until_exec;
}

/* The kernel's timers silently raise a shorter period to this minimum. */
static int count_period_check(const struct count *c, uint64_t period, struct reason *why)
{
	if (!c->spec.timer || period >= CLOCK_PERIOD_MIN)
		return 0;
	return deny(why, -EINVAL, "%s is sampled every %u ns at most: %llu is too short a period",
		    c->spec.timer, CLOCK_PERIOD_MIN, (unsigned long long)period);
}

int count_set_period(struct count *c, uint64_t period, struct reason *why)
{
	int err = c->spec.samples.hz ? 0 : count_period_check(c, period, why);

	if (err || period == c->spec.period || c->spec.samples.hz)
		return err;
	c->spec.period = period;
	if (c->backend->period_at_start)
		return 0;
	if (c->spec.system)	/* an event that is closed gets it when its CPU is back */
		err = c->fd >= 0 ? perf_set_period(c->fd, count_period(c)) : 0;
	else if (c->source < ABI_SOURCE_TRACEPOINT)	/* a program gets it at the start */
		err = task_events_renew(c, why);
	if (err)		/* the next start must not find an old period in force */
		c->spec.period = 0;
	return err ? deny(why, err, "the kernel does not take a period of %llu events: %s",
			  (unsigned long long)period, strerror(-err)) : 0;
}

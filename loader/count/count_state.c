/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions on a PMC's state that every backend needs. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "holder.h"

struct perf_event_spec count_state_event(const struct count *c)
{
	struct perf_event_spec spec = c->spec.event;

	spec.tag = c->tag;
	return spec;
}

void count_state_close_event(const struct count *c, int fd)
{
	if (c->spec.from == COUNT_FROM_TRACEPOINT || c->spec.from == COUNT_FROM_PROBE)
		tracepoints_close_event(c->e->tracepoints, fd);
	else
		close(fd);
}

/*
 * Scales CPU time to the event's ticks and energy to 2^-32 J; other figures are unchanged.  In 128
 * bits, because a year of PROF overflows 64.
 */
uint64_t count_state_scale(const struct count *c, uint64_t raw)
{
	if (!c->spec.rate)
		return raw << c->spec.shift;
	return (uint64_t)((__uint128_t)raw * c->spec.rate / NS_PER_S);
}

bool count_state_scales(const struct count *c)
{
	return count_state_scale(c, NS_PER_S) != NS_PER_S;
}

int count_state_away(const struct count *c, struct reason *why)
{
	return c->away ? deny(why, -ENXIO, "CPU %u is offline", c->spec.cpu) : 0;
}

int count_state_lost(struct count *c, int err, struct reason *why)
{
	c->lost = true;
	if (c->backend->deny_lost)
		return c->backend->deny_lost(c, err, why);
	if (c->lost_cpu >= 0)
		return deny(why, err, "CPU %d came online and ran processes of this PMC before row "
			    "%u (%s) had its counter there; stop, release and allocate again",
			    c->lost_cpu, c->spec.row, c->spec.row_name);
	return deny(why, err, "row %u (%s)%s", c->spec.row, c->spec.row_name,
		    c->spec.holder->lost);
}

int count_state_hold(struct count *c, enum engine_need what, struct reason *why)
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

int count_state_check_thread(const struct count *c, pid_t tgid, bool found, struct reason *why)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", tgid, c->tid);
	if (found && !access(path, F_OK))
		return 0;
	return deny(why, -ESRCH, "the thread has ended: nothing of it was counted");
}

bool count_state_self_only(const struct count *c)
{
	struct targets *ts = c->e->targets;

	return !c->spec.descendants && target_number(ts, c) == 1 &&
	       target_row(ts, c->owner->tgid, c->spec.row) == c;
}

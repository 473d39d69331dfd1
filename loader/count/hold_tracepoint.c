/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hits of tracepoints and probes that BPF programs count.  All PMCs of one share its counter; each
 * user pays once for it, whatever the number of his PMCs.  System-scope PMCs read the counter of
 * their CPU, which goes on where it was after the CPU has been offline.
 */
#include <errno.h>
#include <string.h>

#include "count_pay.h"
#include "count_period.h"
#include "cpu_event.h"
#include "hold_tracepoint.h"
#include "one_thread.h"

/* --- the counter ------------------------------------------------------------------------------ */

struct holders {
	pid_t pid;			/* of one of them */
	unsigned int n;
};

static bool tracepoint_hold_listed(struct count *c, void *arg)
{
	struct holders *h = arg;

	if (c->source >= ABI_SOURCE_TRACEPOINT) {
		h->pid = c->owner->tgid;
		h->n++;
	}
	return false;
}

static int tracepoint_deny_room(const struct count *c, struct reason *why)
{
	struct holders h = { .n = 0 };

	(void)hotplug_any(c->e->hotplug, tracepoint_hold_listed, &h);
	return deny(why, -EINVAL, "%d tracepoints and probes are counted at once, and no more can "
		    "be: %u PMCs have them, one is process %d's; release some",
		    ABI_TRACEPOINTS, h.n, (int)h.pid);
}

/* --- taking and giving ------------------------------------------------------------------------ */

int hold_tracepoint(struct count *c, struct reason *why)
{
	int err;

	if (c->spec.event.filter && !c->spec.sampling)
		return -ENOSYS;
	c->source = c->spec.probe ?
		tracepoints_take_probe(c->e->tracepoints, c->spec.probe, why) :
		tracepoints_take(c->e->tracepoints, c->spec.tracepoint, c->spec.sampling,
				 &c->spec.event, why);
	if (c->source < 0) {
		err = c->source;
		c->source = -1;
		if (err == -ENOSYS && c->spec.sampling)
			return deny(why, -EOPNOTSUPP, "%s can be counted, not sampled: the kernel "
				    "takes no program there", c->spec.tracepoint);
		return err == -ENOSPC ? tracepoint_deny_room(c, why) : err;
	}
	err = c->spec.sampling ? one_thread_begin(c, why) : 0;
	err = err ?: count_pay_source(c, why);
	if (err) {
		tracepoints_give(c->e->tracepoints, c->source);
		c->source = -1;
		return err;
	}
	c->backend = c->spec.system ? &backend_cpu_tracepoint : &backend_slices;
	return 0;
}

void hold_tracepoint_end(struct count *c)
{
	count_pay_source_back(c);
	tracepoints_give(c->e->tracepoints, c->source);
}

static uint64_t tracepoint_missed(const struct count *c)
{
	return c->source < ABI_SOURCE_TRACEPOINT ? 0 :
	       tracepoints_missed(c->e->tracepoints, c->source, c->spec.system);
}

/* --- hits that the kernel did not report, and samples ----------------------------------------- */

/* Each CPU or process from then on finds the PMC, if it samples, with its period. */
void hold_tracepoint_start(struct count *c)
{
	c->missed = tracepoint_missed(c);
	if (c->spec.sampling && c->source >= ABI_SOURCE_TRACEPOINT)
		sampler_set_period(c->e->samplers, (uint32_t)c->spec.tag, count_period(c));
}

void hold_tracepoint_stop(struct count *c)
{
	c->missed_some |= tracepoint_missed(c) != c->missed;
	c->lost |= c->missed_some && c->spec.sampling;	/* nobody reads it: the log has a mark */
}

int hold_tracepoint_check(const struct count *c, struct reason *why)
{
	if (!c->missed_some && (!c->running || tracepoint_missed(c) == c->missed))
		return 0;
	if (c->spec.in_kernel)
		return deny(why, -EBUSY, "row %u (%s): the kernel has missed hits, inside of "
			    "another probe or because too many calls had to be followed; probe "
			    "another function, or release the PMC", c->spec.row, c->spec.row_name);
	return deny(why, -EBUSY, "row %u (%s): a thread was inside more than 64 calls with probes "
		    "of their returns, and the kernel reports no return of deeper ones; count the "
		    "calls with uprobe:, or release the PMC", c->spec.row, c->spec.row_name);
}

/* --- system scope ----------------------------------------------------------------------------- */

static int cpu_tracepoint_now(const struct count *c, uint64_t *value, struct reason *why)
{
	int err = tracepoints_now(c->e->tracepoints, c->source, c->spec.cpu, value);

	return err ? deny(why, err, "CPU %u: the hits of row %u (%s) cannot be read: %s",
			  c->spec.cpu, c->spec.row, c->spec.row_name, strerror(-err)) : 0;
}

static int cpu_tracepoint_start(struct count *c, struct reason *why)
{
	int err = cpu_tracepoint_now(c, &c->start, why);

	hold_tracepoint_start(c);
	err = err ?: count_state_away(c, why);
	if (err || !c->spec.sampling)
		return err;
	err = tracepoints_sample(c->e->tracepoints, c->source, c->spec.cpu, (uint32_t)c->spec.tag);
	return err ? deny(why, -EBUSY, "CPU %u: %u PMCs sample row %u's (%s) hits, and no more can",
			  c->spec.cpu, ABI_CPU_SAMPLERS, c->spec.row, c->spec.row_name) : 0;
}

static int cpu_tracepoint_stop(struct count *c, struct reason *why)
{
	uint64_t now;
	int err;

	if (c->spec.sampling)
		tracepoints_sample_end(c->e->tracepoints, c->source, c->spec.cpu,
				       (uint32_t)c->spec.tag);
	err = cpu_tracepoint_now(c, &now, why);
	c->lost |= err != 0;
	hold_tracepoint_stop(c);
	if (!err)
		c->raw += now - c->start;
	return err ?: count_state_away(c, why);
}

static int cpu_tracepoint_read(struct count *c, uint64_t *raw, struct reason *why)
{
	uint64_t now = c->start;
	int err = c->lost ? count_state_lost(c, -EBUSY, why) : hold_tracepoint_check(c, why);

	if (!err && c->running)
		err = cpu_tracepoint_now(c, &now, why);
	*raw = c->raw + (c->running ? now - c->start : 0);
	return err ?: count_state_away(c, why);
}

static bool cpu_tracepoint_gauge(const struct count *c, struct gauge *g)
{
	g->source = (uint32_t)c->source;
	return true;
}

const struct backend backend_cpu_tracepoint = {
	.name = "CPU tracepoint", .start = cpu_tracepoint_start, .stop = cpu_tracepoint_stop,
	.read = cpu_tracepoint_read, .gauge = cpu_tracepoint_gauge,
	.how_stopped = WIRE_HOW_VALUE, .fill = cpu_event_fill,
};

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "hand_over.h"
#include "loader/kernel/kernel.h"
#include "task_cover.h"
#include "task_events.h"

#define HAND_OVER_TIME (2 * NS_PER_S)	/* for one CPU */

struct hand_over {
	struct engine *e;
	struct count_row *row;
	bool *begun;
	struct reason *why;
};

/* Reserves room for all per-task events of the row, which are opened disabled. */
static int hand_over_begin(struct hand_over *h)
{
	struct count *c;
	int err = 0;

	LIST_FOREACH(c, &h->row->users, on_row) {
		unsigned int n = 0;

		err = err ?: task_open_expect(c, &n);
		err = err ?: user_take(c->owner->user->table, c->owner->user, POOL_EVENTS, n,
				       h->why);
		c->prepaid = err ? 0 : n;
		c->deferred = true;
	}
	return err;
}

static void hand_over_end(struct hand_over *h)
{
	struct count *c;

	LIST_FOREACH(c, &h->row->users, on_row) {
		c->deferred = false;
		user_give(c->owner->user->table, c->owner->user, POOL_EVENTS, c->prepaid);
		c->prepaid = 0;
	}
}

/* For targets that run, or for those that wait for their exec. */
static int hand_over_open(struct hand_over *h, unsigned int cpu, bool waiting)
{
	struct count *c;
	int err = 0;

	LIST_FOREACH(c, &h->row->users, on_row)
		err = err ?: task_open_cpu(c, cpu, waiting);
	return err;
}

/* Waits for forks that are under way, and mends what they have done. */
static int hand_over_prepare(struct hand_over *h)
{
	struct count *c;
	int err = 0;

	LIST_FOREACH(c, &h->row->users, on_row)
		err = err ?: c->running ? task_cover_prepare(c, h->why) : 0;
	return err;
}

/* A target whose exec comes after its event is opened is enabled by the kernel, else here. */
static int hand_over_enable(struct hand_over *h, unsigned int cpu)
{
	int err = hand_over_open(h, cpu, true);
	struct count *c;

	LIST_FOREACH(c, &h->row->users, on_row) {
		if (!c->running)
			continue;
		err = err ?: task_events_enable_cpu(c, cpu);
		err = err ?: task_cover_started_on(c, cpu, h->why);
	}
	return err;
}

/* Runs on that CPU.  -EAGAIN: it can begin again, or has failed if *stopped. */
static int hand_over_here(struct hand_over *h, unsigned int cpu, bool *stopped)
{
	bool online = perf_cpu_online(cpu);
	int err = online ? hop_to(cpu) : 0;
	uint64_t switches = hop_switches();

	DEBUG(h->e->debug, CPU, BIND, "CPU %u, to hand a row over to per-task events", cpu);
	err = err ?: hand_over_enable(h, cpu);
	if (!err && online && hop_switches() != switches)
		err = -EAGAIN;
	if (err)
		return err;
	*h->begun = *stopped = true;
	sources_stop_cpu(h->e->sources, h->row->source, cpu);
	err = online && hop_switches() != switches ? -EAGAIN : 0;
	sources_close_cpu(h->e->sources, h->row->source, cpu);
	return err;
}

/* Closes the CPU's events.  If they have counted, the source has counted the same. */
static void hand_over_undo(struct hand_over *h, unsigned int cpu)
{
	struct count *c;

	LIST_FOREACH(c, &h->row->users, on_row)
		task_events_drop_cpu(c, cpu);
}

static int hand_over_cpu(struct hand_over *h, unsigned int cpu)
{
	uint64_t until = clock_ns() + HAND_OVER_TIME;
	bool stopped = false;
	struct hop hop;
	int err;

	for (;;) {
		err = hop_begin(&hop);
		if (err)
			return err;
		err = hand_over_here(h, cpu, &stopped);
		hop_end(&hop);
		if (err != -EAGAIN || stopped || clock_ns() > until)
			return err;
		hand_over_undo(h, cpu);
		err = hand_over_open(h, cpu, false) ?: hand_over_prepare(h);
		if (err)
			return err;
	}
}

static int hand_over_all(struct hand_over *h)
{
	struct count *c;
	int err = 0;

	for (unsigned int cpu = 0; cpu < h->e->ncpu && !err; cpu++)
		if (perf_has_cpu(&h->row->spec, cpu))
			err = hand_over_open(h, cpu, false);
	err = err ?: hand_over_prepare(h);
	for (unsigned int cpu = 0; cpu < h->e->ncpu && !err; cpu++)
		if (perf_has_cpu(&h->row->spec, cpu))
			err = hand_over_cpu(h, cpu);
	LIST_FOREACH(c, &h->row->users, on_row) {
		c->deferred = false;	/* the watches count at once */
		err = err ?: task_open_watches(c);
		err = err ?: c->running ? task_cover_check(c, true) : 0;
	}
	return err;
}

int hand_over_row(struct engine *e, struct count_row *row, bool *begun, struct reason *why)
{
	struct hand_over h = { .e = e, .row = row, .begun = begun, .why = why };
	uint64_t changes = cpu_bell_changes(e->cpu_bell);
	int err = hand_over_begin(&h) ?: hand_over_all(&h);

	hand_over_end(&h);
	/* A CPU came or went: events may be missed or doubled. */
	if (!err && cpu_bell_changes(e->cpu_bell) != changes)
		err = -EAGAIN;
	return err;
}

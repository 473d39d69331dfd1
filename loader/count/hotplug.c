/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What PMCs do when CPUs go and come.  One of system scope keeps its state and what it has counted,
 * and goes on when its CPU is back.  One of process scope goes on at once, unless a target ran on
 * the CPU before its counter was there: then every read says so.  And what some do as time passes:
 * registers wrap.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "loader/base/clock.h"
#include "count_impl.h"

/* A package that takes 1 kW wraps its register of energy in a minute at the least. */
#define POLL_MS 30000u

struct hotplug {
	struct engine *e;
	LIST_HEAD(, count) all;
	uint64_t seen;			/* engine_cpu_changes() that have been dealt with */
	uint32_t *changes;		/* the same of each CPU */
	int narrow;			/* registers that run and have to be looked at … */
	uint64_t due;			/* … then, ns */
};

struct hotplug *hotplug_new(struct engine *e)
{
	struct hotplug *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->e = e;
	h->changes = calloc(perf_ncpu(), sizeof(*h->changes));
	if (h->changes)
		return h;
	free(h);
	return NULL;
}

void hotplug_free(struct hotplug *h)
{
	if (!h)
		return;
	free(h->changes);
	free(h);
}

void hotplug_add(struct hotplug *h, struct count *c)
{
	LIST_INSERT_HEAD(&h->all, c, in_all);
}

void hotplug_drop(struct count *c)
{
	LIST_REMOVE(c, in_all);
}

/* A dead event can still be read: what it had counted when its CPU went. */
static void keep_dead_event(struct count *c)
{
	uint64_t last;

	if (c->running && !perf_read(c->fd, &last))
		c->raw += last - c->start;
	else if (c->running)
		c->lost = true;
	cpu_event_close(c);
	c->start = 0;
}

static void event_moved(struct count *c, const struct engine_cpu *now)
{
	if (c->fd >= 0 && c->downs != now->downs)
		keep_dead_event(c);
	if (c->fd >= 0 || !now->here)
		return;
	c->downs = now->downs;
	c->fd = cpu_event_open(c);
	if (c->fd == -ENXIO)		/* it went again, and that will be told */
		c->away = true;
	else if (c->fd < 0 || (c->running && c->spec.sampling && perf_enable(c->fd)))
		c->lost = true;
}

static void system_moved(struct count *c, const struct engine_cpu *now)
{
	c->away = !now->here;
	if (c->backend == BACKEND_CPU_EVENT)
		event_moved(c, now);
	else if (c->backend == BACKEND_CPU_MSR)
		register_moved(c, now->here);
	page_update(c);
}

/* A process-scope PMC that may have missed something on the CPU. */
static bool has_missed(const struct count *c, unsigned int cpu, const struct engine_cpu *now,
		       uint64_t missed)
{
	if (c->backend == BACKEND_EVENTS)
		return now->here && events_lack_cpu(c, cpu);
	return c->backend == BACKEND_SLICED && c->running && c->source < ABI_SOURCE_HOOK &&
	       missed >> c->source & 1;
}

static void count_moved(struct count *c, unsigned int cpu, const struct engine_cpu *now,
			uint64_t missed)
{
	if (c->spec.system) {
		if (c->spec.cpu == cpu)
			system_moved(c, now);
	} else if (!c->lost && has_missed(c, cpu, now, missed)) {
		c->lost = true;
		c->lost_cpu = (int)cpu;
		page_update(c);
	}
}

void count_cpus(struct engine *e)
{
	struct hotplug *h = engine_hotplug(e);
	struct count *c;
	uint64_t changes = engine_cpu_changes(e);

	if (changes == h->seen)
		return;
	h->seen = changes;
	for (unsigned int cpu = 0; cpu < engine_ncpu(e); cpu++) {
		struct engine_cpu now = engine_cpu(e, cpu);
		uint64_t missed = 0;

		if (now.changes == h->changes[cpu])
			continue;
		h->changes[cpu] = now.changes;
		if (now.here)
			missed = engine_sources_renew(e, cpu);
		LIST_FOREACH(c, &h->all, in_all)
			count_moved(c, cpu, &now, missed);
	}
}

void hotplug_narrow(struct hotplug *h, int more)
{
	if (!h->narrow)
		h->due = clock_ns() + POLL_MS * 1000000ull;
	h->narrow += more;
}

int count_poll(struct engine *e)
{
	struct hotplug *h = engine_hotplug(e);
	uint64_t now = h->narrow ? clock_ns() : 0;
	bool sliced = false;
	struct why unused;
	struct count *c;

	if (!h->narrow)
		return -1;
	if (now < h->due)
		return (int)((h->due - now) / 1000000 + 1);
	LIST_FOREACH(c, &h->all, in_all) {
		if (!c->running || !register_narrow(c))
			continue;
		if (c->backend == BACKEND_CPU_MSR && !c->away)
			(void)register_fold(c, &unused);	/* who reads is told */
		sliced |= c->backend == BACKEND_SLICED;
	}
	/* A process may have had a CPU for all the time. */
	if (sliced)
		engine_flush_all(e);
	h->due = now + POLL_MS * 1000000ull;
	return POLL_MS;
}

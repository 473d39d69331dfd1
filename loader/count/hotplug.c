/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs and CPU hotplug.  A system-scope PMC keeps its state and count, and resumes when its CPU is
 * back.  A process-scope PMC resumes at once, unless a target ran on the CPU before its counter was
 * open: then every read fails.  This file also polls registers before they wrap.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "loader/base/base.h"
#include "page.h"
#include "register.h"

/* A package that takes 1 kW wraps its register of energy in no less than a minute. */
#define POLL_MS 30000u

struct hotplug {
	struct engine *e;
	LIST_HEAD(, count) all;
	uint64_t seen;			/* cpu_bell_changes() that were handled */
	uint32_t *changes;		/* the same for each CPU */
	int narrow;			/* running registers that have to be polled … */
	uint64_t due;			/* … at this time, ns */
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

bool hotplug_any(const struct hotplug *h, bool (*fn)(struct count *c, void *arg), void *arg)
{
	struct count *c;
	bool found = false;

	LIST_FOREACH(c, &h->all, in_all)
		found = found || fn(c, arg);
	return found;
}

static void hotplug_moved(struct count *c, unsigned int cpu, const struct cpu_state *now,
			  uint64_t missed)
{
	if (c->spec.system) {
		if (c->spec.cpu != cpu)
			return;
		c->away = !now->here;
		if (c->backend->cpu_moved)
			c->backend->cpu_moved(c, now);
		page_update(c);
	} else if (!c->lost && c->backend->cpu_missed &&
		   c->backend->cpu_missed(c, cpu, now, missed)) {
		c->lost = true;
		c->lost_cpu = (int)cpu;
		page_update(c);
	}
}

/* Renews the sources of a CPU.  Bit s: targets ran there without source s. */
static uint64_t hotplug_renew(struct engine *e, unsigned int cpu)
{
	uint64_t renewed = sources_renew(e->sources, cpu);

	if (!renewed)
		return 0;
	/* Ends a slice that began with a dead event; failed reads are known after that. */
	if (flush_cpu(e->flush, cpu))
		return renewed;
	return sources_missed(e->sources, cpu, renewed);
}

void count_cpus(struct engine *e)
{
	struct hotplug *h = e->hotplug;
	struct count *c;
	uint64_t changes = cpu_bell_changes(e->cpu_bell);

	if (changes == h->seen)
		return;
	h->seen = changes;
	for (unsigned int cpu = 0; cpu < e->ncpu; cpu++) {
		struct cpu_state now = cpu_bell_cpu(e->cpu_bell, cpu);
		uint64_t missed = 0;

		if (now.changes == h->changes[cpu])
			continue;
		h->changes[cpu] = now.changes;
		if (now.here)
			missed = hotplug_renew(e, cpu);
		LIST_FOREACH(c, &h->all, in_all)
			hotplug_moved(c, cpu, &now, missed);
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
	struct hotplug *h = e->hotplug;
	uint64_t now = h->narrow ? clock_ns() : 0;
	unsigned int again = POLL_MS;
	bool flush = false;
	struct count *c;

	if (!h->narrow)
		return -1;
	if (now < h->due)
		return (int)((h->due - now) / 1000000 + 1);
	LIST_FOREACH(c, &h->all, in_all) {
		if (!c->running || !register_narrow(c))
			continue;
		flush |= c->backend->fold && c->backend->fold(c);
	}
	/* On failure the next poll follows at once, still before a register has wrapped. */
	if (flush && flush_all(e->flush))
		again = 1;
	h->due = now + again * 1000000ull;
	return (int)again;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs of a cgroup that programs count in slices, by bpf/count/cgroup.bpf.c.  PMCs of one event
 * share its source, whatever their cgroups: a switch between two cgroups reads it once.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "cgroup.h"
#include "cgroup_slices.h"
#include "count_pay.h"
#include "cpu_hook.h"
#include "hold_tracepoint.h"

#define START_TRIES 32

/* --- the source of PMCs that have no row and no tracepoint ------------------------------------ */

static bool source_is_own(const struct count *c)
{
	return c->cgroup && c->cgroup->place >= 0 && c->spec.holder == &holder_own &&
	       c->source >= 0 && c->source < ABI_SOURCE_HOOK;
}

/* Gives the PMC the source of another one that counts the same. */
static bool source_share(struct count *c, void *arg)
{
	struct count *new = arg;

	if (!source_is_own(c) || !perf_spec_same(&c->spec.event, &new->spec.event))
		return false;
	new->source = c->source;
	return true;
}

static bool source_is_used(struct count *c, void *arg)
{
	const struct count *other = arg;

	return c != other && c->source == other->source;
}

/* The last of its users closes the source. */
static void source_give(struct count *c)
{
	count_pay_source_back(c);
	if (!hotplug_any(c->e->hotplug, source_is_used, c))
		sources_close(c->e->sources, c->source);
	c->source = -1;
}

static int source_take(struct count *c, struct reason *why)
{
	const struct perf_event_spec spec = count_state_event(c);
	int err;

	if (!hotplug_any(c->e->hotplug, source_share, c))
		c->source = sources_open(c->e->sources, &spec, why);
	if (c->source < 0) {
		err = c->source;
		c->source = -1;
		return err;
	}
	err = count_pay_source(c, why);
	if (err)
		source_give(c);
	return err;
}

/* --- from the allocation to the release ------------------------------------------------------- */

static void cgroup_slices_forget(struct count *c)
{
	cgroup_forget(c->e->cgroups, c->cgroup->place);
}

int cgroup_slices_new(struct count *c, struct reason *why)
{
	struct cgroup_state *g = c->cgroup;
	struct user *u = c->owner->user;
	int place, err = user_take(u->table, u, POOL_CGROUPS, 1, why);

	if (err)
		return err;
	place = cgroup_take(c->e->cgroups, why);
	if (place < 0) {
		user_give(u->table, u, POOL_CGROUPS, 1);
		return place;
	}
	g->place = place;
	c->backend = &backend_cgroup_slices;
	g->zero = cgroup_sum(c->e->cgroups, place);
	cgroup_slices_forget(c);
	return c->source < 0 ? source_take(c, why) : 0;
}

void cgroup_slices_free(struct count *c)
{
	struct cgroup_state *g = c->cgroup;

	if (g->place < 0)
		return;
	cgroup_give(c->e->cgroups, g->place);
	user_give(c->owner->user->table, c->owner->user, POOL_CGROUPS, 1);
	if (source_is_own(c))
		source_give(c);
	g->place = -1;
}

static int cgroup_slices_hold(struct count *c, struct reason *why)
{
	int err = count_state_hold(c, NEED_CGROUP, why);

	return err || c->spec.from != COUNT_FROM_HOOK ? err : cpu_hook_hold(c, why);
}

/* --- running ---------------------------------------------------------------------------------- */

/* One try: false if a switch was hidden meanwhile, or a CPU did not begin. */
static bool cgroup_slices_begin(struct count *c)
{
	struct cgroups *g = c->e->cgroups;
	const int place = c->cgroup->place;
	uint64_t hidden = switches_hidden(c->e), before = cgroup_sum(g, place);

	cgroup_activate(g, place, true);
	if (!flush_all(c->e->flush)) {
		cgroup_due(g, place, true);
		if (switches_hidden(c->e) == hidden)
			return true;
	}
	cgroup_due(g, place, false);
	cgroup_activate(g, place, false);
	if (flush_all(c->e->flush))
		cgroup_lose(g, place);
	c->cgroup->zero += cgroup_sum(g, place) - before;
	return false;
}

static int cgroup_slices_start(struct count *c, struct reason *why)
{
	const int folder = c->cgroup->folder;

	if (faccessat(folder, "cgroup.procs", F_OK, 0))
		return cgroup_refused(c, folder, -ENOENT, why);
	hold_tracepoint_start(c);
	for (unsigned int tries = 0; tries < START_TRIES; tries++)
		if (cgroup_slices_begin(c))
			return 0;
	cgroup_lose(c->e->cgroups, c->cgroup->place);
	return 0;
}

static int cgroup_slices_stop(struct count *c, struct reason *why)
{
	struct cgroups *g = c->e->cgroups;
	const int place = c->cgroup->place;

	(void)why;
	cgroup_activate(g, place, false);
	if (flush_all(c->e->flush))
		cgroup_lose(g, place);
	cgroup_due(g, place, false);
	c->lost |= sources_lost(c->e->sources, c->source);
	hold_tracepoint_stop(c);
	return 0;
}

/* Where switches are hidden, slices may be open that no CPU knows of. */
static int cgroup_slices_update(const struct count *c)
{
	bool all = switches_hidden(c->e);
	int err = 0;

	for (unsigned int cpu = 0; cpu < c->e->ncpu && !err; cpu++)
		if (all || cgroup_is_open(c->e->cgroups, c->cgroup->place, cpu))
			err = flush_cpu(c->e->flush, cpu);
	return err;
}

static bool cgroup_slices_missed(const struct count *c)
{
	return cgroup_has_lost(c->e->cgroups, c->cgroup->place);
}

static int cgroup_slices_read(struct count *c, uint64_t *raw, struct reason *why)
{
	int err = c->running ? cgroup_slices_update(c) : 0;

	*raw = cgroup_sum(c->e->cgroups, c->cgroup->place) - c->cgroup->zero;
	if (c->lost || sources_lost(c->e->sources, c->source))
		return count_state_lost(c, -EBUSY, why);
	if (cgroup_slices_missed(c))
		return deny(why, -EBUSY, "row %u (%s) lost a time slice of the cgroup: this kernel "
			    "has not reported a context switch (pmccontrol --doctor), or has not "
			    "ended a slice when asked; release the PMC and allocate again: where "
			    "switches are hidden, perf counts it", c->spec.row, c->spec.row_name);
	return err ? flush_deny(err, why) : hold_tracepoint_check(c, why);
}

static bool cgroup_slices_cpu_missed(const struct count *c, unsigned int cpu,
				     const struct cpu_state *now, uint64_t missed)
{
	(void)cpu;
	(void)now;
	return c->running && c->source < ABI_SOURCE_HOOK && missed >> c->source & 1;
}

const struct backend backend_cgroup_slices = {
	.name = "cgroup slices", .hold = cgroup_slices_hold, .start = cgroup_slices_start,
	.stop = cgroup_slices_stop, .read = cgroup_slices_read,
	.cpu_missed = cgroup_slices_cpu_missed, .missed = cgroup_slices_missed,
	.forget = cgroup_slices_forget, .deny_lost = cgroup_deny_lost,
	.how_stopped = WIRE_HOW_ASK,
};

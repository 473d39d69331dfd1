/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs that are not limited in number: each has an event of its own, or counts something that the
 * kernel or a program counts anyway.
 */
#include <errno.h>

#include "cgroup.h"
#include "cgroup_hits.h"
#include "count_pay.h"
#include "count_row.h"
#include "cpu_event.h"
#include "hold_tracepoint.h"
#include "holder.h"
#include "one_thread.h"

/* A program counts its hits. */
static bool hold_own_hits(const struct count *c)
{
	return c->spec.from == COUNT_FROM_TRACEPOINT || c->spec.from == COUNT_FROM_PROBE;
}

static int hold_own_offcpu(struct count *c, struct reason *why)
{
	int err, place = offcpu_take(c->e->offcpus, why);

	if (place < 0)
		return place;
	c->source = place;
	c->backend = &backend_offcpu;
	err = one_thread_begin(c, why);
	if (err)
		offcpu_give(c->e->offcpus, place);
	return err;
}

static int hold_own_system(struct count *c, struct reason *why)
{
	int err;

	if (c->spec.from == COUNT_FROM_OFFCPU)
		return hold_own_offcpu(c, why);
	if (c->spec.from == COUNT_FROM_HOOK) {
		c->backend = &backend_cpu_hook;
		return 0;
	}
	if (hold_own_hits(c)) {
		err = hold_tracepoint(c, why);
		if (err != -ENOSYS)
			return err;
	}
	err = count_pay(c, 1, 0, why);
	return err ?: cpu_event_new(c, why);
}

static bool hold_own_tasks(const struct count *c)
{
	if (c->spec.system || c->spec.cgroup || c->spec.from == COUNT_FROM_OFFCPU)
		return false;
	return c->spec.sampling ? !hold_own_hits(c) : c->spec.thread && !c->spec.alone;
}

static void hold_own_source_end(struct count *c)
{
	if (c->spec.from == COUNT_FROM_OFFCPU)
		offcpu_give(c->e->offcpus, c->source);
	else if (c->source >= ABI_SOURCE_TRACEPOINT)
		hold_tracepoint_end(c);
	else if (c->source >= 0 && c->source < ABI_SOURCE_HOOK)
		sources_close(c->e->sources, c->source);
}

static int hold_own_cgroup(struct count *c, struct reason *why)
{
	int err = -ENOSYS;

	if (c->spec.from == COUNT_FROM_HOOK)
		c->source = ABI_SOURCE_HOOK + (int)c->spec.hook;
	else if (c->spec.from == COUNT_FROM_OFFCPU)
		err = hold_own_offcpu(c, why);
	else if (hold_own_hits(c) &&
		 (cgroup_hits_has(&c->spec) || count_slices_cgroup(c->e, &c->spec)))
		err = hold_tracepoint(c, why);
	if (err && err != -ENOSYS)
		return err;
	err = cgroup_new(c, why);
	if (err)
		hold_own_source_end(c);
	return err;
}

/* The places of a probe are kept, because threads are attached later. */
static int hold_own_task(struct count *c, struct reason *why)
{
	int err = 0;

	if (c->spec.from == COUNT_FROM_PROBE)
		err = count_pay(c, 1, 0, why) ?:
		      probe_sites_new(c->e, c->spec.probe, &c->sites, why);
	if (err)
		return err;
	c->backend = &backend_task_events;
	LIST_INSERT_HEAD(&target_count_row(c->e->targets, c->spec.row)->soft, c, on_row);
	return 0;
}

static int hold_own_choose(struct count *c, struct reason *why)
{
	const struct perf_event_spec spec = count_state_event(c);
	int err;

	if (c->spec.cgroup)
		return hold_own_cgroup(c, why);
	if (c->spec.from == COUNT_FROM_OFFCPU)
		return hold_own_offcpu(c, why);
	if (hold_own_tasks(c))
		return hold_own_task(c, why);
	if (c->spec.from == COUNT_FROM_FIGURES) {
		c->backend = &backend_figures;
		return 0;
	}
	if (c->spec.from == COUNT_FROM_MIGRATION) {
		c->backend = &backend_migrations;
		return 0;
	}
	c->backend = &backend_slices;
	if (c->spec.from == COUNT_FROM_HOOK) {
		c->source = ABI_SOURCE_HOOK + (int)c->spec.hook;
		return 0;
	}
	if (hold_own_hits(c)) {
		err = hold_tracepoint(c, why);
		if (err != -ENOSYS)
			return err;
	}
	err = count_pay(c, c->e->ncpu, 1, why);
	if (err)
		return err;
	c->source = sources_open(c->e->sources, &spec, why);
	return c->source < 0 ? c->source : 0;
}

static int hold_own_process(struct count *c, struct reason *why)
{
	int err = c->spec.alone ? one_thread_begin(c, why) : 0;

	if (err)
		return err;
	err = hold_own_choose(c, why);
	if (err)
		one_thread_end(c);
	return err;
}

static void hold_own_end(struct count *c)
{
	one_thread_end(c);
	if (hold_own_tasks(c))
		LIST_REMOVE(c, on_row);
	probe_sites_free(c->sites);
	hold_own_source_end(c);
}

const struct count_holder holder_own = {
	.lost = HOLDER_LOST,
	.begin_system = hold_own_system, .begin_process = hold_own_process, .end = hold_own_end,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs that hold a counter of the CPUs.  A system-scope PMC has a pinned event on its CPU; those of
 * process scope share the row's counter, see count_row.h.
 */
#include <errno.h>

#include "cgroup.h"
#include "count_pay.h"
#include "count_row.h"
#include "cpu_event.h"
#include "holder.h"

/*
 * True if the PMU could still hold every row if this row counted `spec` as well.  Called before
 * anything is opened: a new per-CPU event would push a running per-task event off its counter.
 */
static int hold_counter_fits(const struct count *c, const struct perf_event_spec *spec,
			     struct reason *why)
{
	struct targets *ts = c->e->targets;
	struct perf_event_spec all[TARGET_ROWS];
	unsigned int n = 0;

	all[n++] = *spec;
	for (unsigned int r = 0; r < TARGET_ROWS; r++) {
		const struct count *user = LIST_FIRST(&target_count_row(ts, r)->users);

		if (user && r != c->spec.row && user->spec.event.pmu == spec->pmu)
			all[n++] = user->spec.event;
	}
	if (perf_fits(all, n))
		return 0;
	return deny(why, -EINVAL,
		    "the PMU cannot count this event on row %u (%s) beside the %u rows in use; "
		    "release one, or use an event that another counter takes", c->spec.row,
		    c->spec.row_name, n - 1);
}

static int hold_counter_rank(const struct engine *e, const struct count_spec *spec)
{
	const struct count_row *row = target_count_row(e->targets, spec->row);
	bool differs, cgroups = spec->cgroup;
	const struct count *c;

	if (LIST_EMPTY(&row->users))
		return 0;
	differs = row->per_task || spec->sampling || spec->thread ||
		  !perf_spec_same(&row->spec, &spec->event);
	LIST_FOREACH(c, &row->users, on_row)
		cgroups |= c->spec.cgroup;
	if (!cgroups)
		return differs;
	/* On one CPU, perf's event of a cgroup and another one of the row would count at once. */
	if (row->source < 0 || differs)
		return -1;
	return spec->cgroup && !count_slices_cgroup(e, spec) ? -1 : 0;
}

static int hold_counter_system(struct count *c, struct reason *why)
{
	const struct perf_event_spec spec = count_state_event(c);
	int err = count_pay(c, 1, 0, why);

	if (err)
		return err;
	if (hold_counter_fits(c, &spec, why))
		return -EINVAL;
	err = cpu_event_new(c, why);
	if (!err)
		count_row_add(c);
	return err;
}

/* A sampling PMC has a period of its own, and so an event of its own; slices are of processes. */
static int hold_counter_tasks(struct count *c, struct count_row *row, struct reason *why)
{
	int err = 0;

	if (!LIST_EMPTY(&row->users) && !row->per_task)
		err = count_row_to_tasks(c->e, row, why);
	if (err)	/* another user's quota is not this user's */
		return err == -EAGAIN ? -EINVAL : err;
	row->per_task = true;
	c->backend = &backend_task_events;
	count_row_add(c);
	return 0;
}

static int hold_counter_cgroup(struct count *c, struct count_row *row,
			       const struct perf_event_spec *spec, struct reason *why)
{
	bool sliced = count_slices_cgroup(c->e, &c->spec);
	int err = sliced && LIST_EMPTY(&row->users) ? count_row_begin(c, spec, why) : 0;

	return err ?: count_row_add_cgroup(c, why);
}

static int hold_counter_process(struct count *c, struct reason *why)
{
	struct count_row *row = target_count_row(c->e->targets, c->spec.row);
	struct perf_event_spec spec = count_state_event(c);
	int err = hold_counter_fits(c, &spec, why);

	if (err)
		return err;
	if (c->spec.cgroup)
		return hold_counter_cgroup(c, row, &spec, why);
	if (c->spec.sampling || c->spec.thread)
		return hold_counter_tasks(c, row, why);
	c->backend = &backend_slices;
	if (LIST_EMPTY(&row->users)) {
		err = count_row_begin(c, &spec, why);
		if (err)
			return err;
	} else if (row->per_task || !perf_spec_same(&row->spec, &spec)) {
		if (c->spec.log)
			return deny(why, -EINVAL, "row %u (%s) counts several events, so that time "
				    "slices cannot be logged there", c->spec.row,
				    c->spec.row_name);
		err = row->per_task ? 0 : count_row_to_tasks(c->e, row, why);
		if (err)
			return err == -EAGAIN ? -EINVAL : err;
		c->backend = c->spec.grouped ? &backend_task_group : &backend_task_events;
	}
	c->source = row->source;
	count_row_add(c);
	return 0;
}

/*
 * An owner that measures only itself reads its own threads' events without the daemon; for that it
 * needs the row for itself.
 */
static int hold_counter_prepare(struct count *c, struct reason *why)
{
	struct count_row *row;

	if (!c->backend->sliced || c->spec.log || c->spec.grouped)
		return 0;
	row = target_count_row(c->e->targets, c->spec.row);
	if (LIST_FIRST(&row->users) != c || LIST_NEXT(c, on_row) || !count_state_self_only(c))
		return 0;
	return count_row_to_tasks(c->e, row, why);
}

const struct count_holder holder_counter = {
	.lost = HOLDER_LOST,
	.rank = hold_counter_rank, .begin_system = hold_counter_system,
	.begin_process = hold_counter_process, .end = count_row_leave,
	.prepare = hold_counter_prepare,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hardware rows under process scope: PMCs that count the same event share one per-CPU event and
 * slice it; as soon as two count different events, the kernel switches per-task events instead.
 * PMCs of a register share that register as their source and never conflict.
 */
#include <errno.h>
#include <string.h>

#include "cgroup.h"
#include "count_pay.h"
#include "count_row.h"
#include "hand_over.h"
#include "loader/kernel/kernel.h"
#include "page.h"
#include "slices.h"
#include "task_cover.h"
#include "task_events.h"

void count_row_add(struct count *c)
{
	struct count_row *row = target_count_row(c->e->targets, c->spec.row);

	LIST_INSERT_HEAD(&row->users, c, on_row);
}

int count_row_add_cgroup(struct count *c, struct reason *why)
{
	int err;

	c->source = target_count_row(c->e->targets, c->spec.row)->source;
	err = cgroup_new(c, why);
	count_row_add(c);
	if (err)
		count_row_leave(c);
	return err;
}

bool count_holds(const struct engine *e, unsigned int row, unsigned int cpu)
{
	const struct count_row *r = target_count_row(e->targets, row);
	const struct count *c;

	LIST_FOREACH(c, &r->users, on_row)
		if (c->spec.system && c->spec.cpu == cpu && !c->lost)
			return true;
	return r->source >= 0 && !sources_lost(e->sources, r->source);
}

void count_row_leave(struct count *c)
{
	struct count_row *row = target_count_row(c->e->targets, c->spec.row);

	LIST_REMOVE(c, on_row);
	count_pay_row_on(row);
	if (!LIST_EMPTY(&row->users))
		return;
	if (row->source >= 0)
		sources_close(c->e->sources, row->source);
	row->source = -1;
	row->per_task = false;
}

struct convert_args {
	struct count *c;
	int err;
	struct reason *why;
};

static void count_row_convert_target(void *arg, pid_t tgid)
{
	struct convert_args *a = arg;

	if (!a->err)
		a->err = task_open_process(a->c, tgid, a->why);
	if (a->err == -ESRCH)
		a->err = 0;
}

/* Adds the slices' count to the base and removes the source from the sets. */
static void count_row_leave_slices(struct targets *ts, struct count *c, const struct backend *to)
{
	uint64_t sum;

	c->backend = to;
	target_rewrite(ts, c);
	c->source = -1;
	sum = slices_sum(c);
	c->base += sum;
	c->zero += sum;
	page_update(c);
}

/* Used while no PMC runs: the events need not be bound to a CPU. */
static int count_row_attach_all(struct targets *ts, struct count_row *row, struct reason *why)
{
	struct convert_args a = { .why = why };

	LIST_FOREACH(a.c, &row->users, on_row) {
		int err = target_each(ts, a.c, count_row_convert_target, &a);

		a.err = a.err ?: err;
	}
	return a.err;
}

static void count_row_give_up(struct engine *e, struct count_row *row)
{
	DEBUG(e->debug, MD, CONFIG, "source %d gives way to per-task events", row->source);
	sources_close(e->sources, row->source);
	count_pay_row_back(row);
	row->source = -1;
	row->per_task = true;
}

void count_row_to_group(struct count *c)
{
	engine_hold(c->e, true);
	count_row_leave_slices(c->e->targets, c, &backend_task_group);
	count_row_give_up(c->e, target_count_row(c->e->targets, c->spec.row));
	engine_hold(c->e, false);
}

static int count_row_convert(struct engine *e, struct count_row *row, struct reason *why)
{
	struct targets *ts = e->targets;
	bool running = false, begun = false;
	struct count *c;
	int err;

	LIST_FOREACH(c, &row->users, on_row) {
		running |= c->running;
		if (c->spec.grouped)
			return deny(why, -EINVAL, "row %u (%s) counts for a group, so that it "
				    "cannot count several events", c->spec.row,
				    c->spec.row_name);
		if (c->spec.log)
			return deny(why, -EINVAL, "row %u (%s) logs time slices, so that it cannot "
				    "count several events", c->spec.row, c->spec.row_name);
	}
	why->text[0] = '\0';
	err = running ? hand_over_row(e, row, &begun, why) :
			count_row_attach_all(ts, row, why);
	if (err && !begun) {
		LIST_FOREACH(c, &row->users, on_row)
			task_events_close(c);
		if (err == -EAGAIN && why->text[0])	/* a quota */
			return err;
		return deny(why, err, "cannot share the row between events: %s", perf_error(err));
	}
	LIST_FOREACH(c, &row->users, on_row) {
		count_row_leave_slices(ts, c, &backend_task_events);
		/* Half a hand-over cannot be undone: mark the count as lost. */
		c->lost |= err != 0;
	}
	count_row_give_up(e, row);
	return err ? deny(why, err, "cannot share the row between events: %s", perf_error(err)) : 0;
}

/*
 * The row, its PMCs and their targets must not change during the conversion, and the daemon must do
 * nothing else on a CPU that it hops to: no other operation runs until it is done.
 */
int count_row_to_tasks(struct engine *e, struct count_row *row, struct reason *why)
{
	int err;

	engine_hold(e, true);
	err = count_row_convert(e, row, why);
	engine_hold(e, false);
	return err;
}

int count_row_begin(struct count *c, const struct perf_event_spec *spec, struct reason *why)
{
	struct count_row *row = target_count_row(c->e->targets, c->spec.row);
	int err;

	row->spec = *spec;
	row->per_task = false;
	err = count_pay_row(row, c, why);
	if (err)
		return err;
	row->source = sources_open(c->e->sources, spec, why);
	if (row->source >= 0)
		return 0;
	count_pay_row_back(row);
	return row->source;
}

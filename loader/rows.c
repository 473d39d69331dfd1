/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of hardware under process scope: PMCs that count the same event share one per-CPU event and
 * slice it; as soon as two count different events, the kernel switches per-task events instead.
 */
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "count_impl.h"

/*
 * Would the PMU still hold every row if this row counted `spec` as well?  Asked before anything is
 * opened: a new per-CPU event would push a running per-task event off its counter.
 */
int row_fits(const struct count *c, const struct perf_event_spec *spec, struct why *why)
{
	struct targets *ts = engine_targets(c->e);
	struct perf_event_spec all[TARGET_ROWS];
	unsigned int n = 0;

	all[n++] = *spec;
	for (unsigned int r = 0; r < TARGET_ROWS; r++) {
		const struct count *user = target_count_row(ts, r)->users;

		if (user && r != c->spec.row && user->spec.event.type == spec->type)
			all[n++] = user->spec.event;
	}
	if (perf_fits(all, n))
		return 0;
	return deny(why, -EINVAL,
		    "the PMU cannot count this event on row %u beside the %u rows in use; "
		    "release one, or use an event that another counter takes", c->spec.row, n - 1);
}

void row_add(struct count *c)
{
	struct count_row *row = target_count_row(engine_targets(c->e), c->spec.row);

	c->row_next = row->users;
	row->users = c;
}

void row_leave(struct count *c)
{
	struct count_row *row = target_count_row(engine_targets(c->e), c->spec.row);
	struct count **at = &row->users;

	if (c->spec.kind != COUNT_HARDWARE) {
		if (c->source >= 0 && c->source < ABI_SOURCE_HOOK)
			engine_source_close(c->e, c->source);
		return;
	}
	while (*at && *at != c)
		at = &(*at)->row_next;
	if (!*at)
		return;
	*at = c->row_next;
	if (row->users)
		return;
	if (row->source >= 0)
		engine_source_close(c->e, row->source);
	row->source = -1;
	row->per_task = false;
}

struct convert_args {
	struct count *c;
	int err;
	struct why *why;
};

static void convert_target(void *arg, pid_t tgid)
{
	struct convert_args *a = arg;

	if (!a->err)
		a->err = events_attach(a->c, tgid, a->why);
	if (a->err == -ESRCH)
		a->err = 0;
}

/* What the slices have counted moves into the base; the sets forget the source. */
static void leave_slices(struct targets *ts, struct count *c)
{
	c->backend = BACKEND_EVENTS;
	target_rewrite(ts, c);
	c->source = -1;
	c->base += count_slices(c);
	c->zero += count_slices(c);
	page_update(c);
}

/*
 * One CPU's part of a hand-over that misses and doubles nothing.  The daemon runs on that CPU and
 * nobody else does, so that no target has a slice open there; what targets do on other CPUs, their
 * sources still count, and what they do here from now on, their events for this CPU.
 */
static int hand_over_cpu(struct count_row *row, unsigned int cpu)
{
	cpu_set_t here;
	int err = 0;

	CPU_ZERO(&here);
	CPU_SET(cpu, &here);
	if (sched_setaffinity(0, sizeof(here), &here))
		return -errno;
	engine_source_close_cpu(row->users->e, row->source, cpu);
	for (struct count *c = row->users; c && !err; c = c->row_next)
		err = events_attach_cpu(c, cpu);
	return err;
}

/* *begun: a CPU has been handed over, and there is no way back. */
static int hand_over(struct engine *e, struct count_row *row, bool *begun)
{
	struct sched_param before, first = { .sched_priority = 1 };
	int policy = sched_getscheduler(0), err = 0;
	cpu_set_t cpus;

	if (policy < 0 || sched_getparam(0, &before) ||
	    sched_getaffinity(0, sizeof(cpus), &cpus) || sched_setscheduler(0, SCHED_FIFO, &first))
		return -errno;
	for (unsigned int cpu = 0; cpu < engine_ncpu(e) && cpu < CPU_SETSIZE && !err; cpu++) {
		if (!perf_cpu_online(cpu))
			continue;
		*begun = true;
		err = hand_over_cpu(row, cpu);
	}
	sched_setscheduler(0, policy, &before);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	return err;
}

/* Nobody runs: the events may be of any CPU. */
static int attach_all(struct targets *ts, struct count_row *row, struct why *why)
{
	struct convert_args a = { .why = why };

	for (a.c = row->users; a.c && !a.err; a.c = a.c->row_next)
		target_each(ts, a.c, convert_target, &a);
	return a.err;
}

int row_to_tasks(struct engine *e, struct count_row *row, struct why *why)
{
	struct targets *ts = engine_targets(e);
	bool running = false, begun = false;
	int err;

	for (struct count *c = row->users; c; c = c->row_next)
		running |= c->running;
	err = running ? hand_over(e, row, &begun) : attach_all(ts, row, why);
	if (err && !begun) {
		for (struct count *c = row->users; c; c = c->row_next)
			events_close(c);
		return deny(why, err, "cannot share the row between events: %s", strerror(-err));
	}
	for (struct count *c = row->users; c; c = c->row_next) {
		leave_slices(ts, c);
		/* A half of a hand-over cannot be undone: better no count than a wrong one. */
		c->lost |= err != 0;
	}
	engine_source_close(e, row->source);
	row->source = -1;
	row->per_task = true;
	return err ? deny(why, err, "cannot share the row between events: %s", strerror(-err)) : 0;
}

int row_join(struct count *c, struct why *why)
{
	struct targets *ts = engine_targets(c->e);
	struct count_row *row = target_count_row(ts, c->spec.row);
	struct perf_event_spec spec = count_event(c);
	int err;

	c->backend = BACKEND_SLICED;
	if (c->spec.kind == COUNT_SOFT && c->spec.soft->process == SOFT_HOOK) {
		c->source = ABI_SOURCE_HOOK + (int)c->spec.soft->hook;
		return 0;
	}
	if (c->spec.kind == COUNT_SOFT) {	/* software events are not limited: each its own */
		c->source = engine_source_open(c->e, &spec, why);
		return c->source < 0 ? c->source : 0;
	}
	err = row_fits(c, &spec, why);
	if (err)
		return err;
	if (!row->users) {
		row->source = engine_source_open(c->e, &spec, why);
		if (row->source < 0)
			return row->source;
		row->spec = spec;
		row->per_task = false;
	} else if (row->per_task || !perf_spec_same(&row->spec, &spec)) {
		err = row->per_task ? 0 : row_to_tasks(c->e, row, why);
		if (err)
			return err;
		c->backend = BACKEND_EVENTS;
	}
	c->source = row->source;
	row_add(c);
	return 0;
}

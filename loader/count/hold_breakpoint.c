/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMCs that hold a breakpoint register.  A row of process scope has one of two uses until its last
 * PMC is released.  Either it watches one address on every CPU, as the source of slices, and all
 * its PMCs count that address.  Or its PMCs have per-task events, each with an address of its own:
 * no process is the target of two PMCs of a row, so that no thread needs two registers for it.  A
 * PMC of a cgroup that perf counts, or that samples, has its row for itself.
 *
 * The kernel admits an event if on each CPU the events of that CPU and the most that a thread has
 * fit into the registers, which these rules ensure for events of the daemon.
 *
 * An event that the programs read from their map is closed a grace period after it has left the
 * map, and only then the kernel gives its register back.  An owner whose PMC comes right after that
 * waits for it.
 */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <time.h>

#include "count_pay.h"
#include "count_row.h"
#include "cpu_event.h"
#include "hold_breakpoint.h"
#include "holder.h"

#define GIVE_NS 2000000000ull	/* later nothing comes back: others have the registers … */
#define WAIT_NS	 200000000ull	/* … but a daemon that starts has them for a moment only */

bool hold_breakpoint_comes(const struct count *c, int err, uint64_t *since)
{
	const struct timespec step = { .tv_nsec = 1000000 };
	const struct engine *e = c->e;
	uint64_t now = clock_ns();

	if (err != -ENOSPC || !c->spec.event.breakpoint)
		return false;
	*since = *since ?: now;
	if (now - *since > WAIT_NS &&
	    (!e->breakpoints.given || now - e->breakpoints.given > GIVE_NS))
		return false;
	nanosleep(&step, NULL);
	engine_breathe(e);
	return true;
}

static bool breakpoint_in_kernel(const struct perf_event_spec *spec)
{
	return spec->config1 >> 63;
}

/* True if the PMC can be one of per-task events; the kernel's addresses cannot on arm64. */
static bool breakpoint_fits_tasks(const struct count_spec *spec)
{
	return !spec->log && !breakpoint_in_kernel(&spec->event);
}

/* The kernel does not say which of its addresses it cannot be interrupted at. */
static int breakpoint_explain(const struct count *c, int err, struct reason *why)
{
	if (err != -EINVAL || !breakpoint_in_kernel(&c->spec.event))
		return err;
	return deny(why, err, "the kernel admits no breakpoint at 0x%llx: it may not be "
		    "interrupted there, or was built without CONFIG_KPROBES",
		    (unsigned long long)c->spec.event.config1);
}

/* --- neighbours ------------------------------------------------------------------------------- */

/*
 * 64-bit ARM reports where an access begins, not which registers it met.  The kernel credits the
 * registers that have this byte, or if there is none, the nearest one alone.  So two registers
 * count exactly only if no access can meet one, or come near it, and meet the other.
 */
#define APART 256u	/* bytes: twice the longest access, a vector of 128 */

static bool breakpoint_is_near(const struct perf_event_spec *a, const struct perf_event_spec *b)
{
	return a->config1 < b->config1 + b->config2 + APART &&
	       b->config1 < a->config1 + a->config2 + APART;
}

/* True if some thread or CPU may have both. */
static bool breakpoints_may_meet(const struct count *a, const struct count *b)
{
	if (a->spec.in_tasks && b->spec.in_tasks)
		return a->owner->user == b->owner->user;
	return !a->spec.system || !b->spec.system || a->spec.cpu == b->spec.cpu;
}

static bool breakpoints_share(const struct count *a, const struct count *b)
{
	return !a->spec.system && !b->spec.system && !a->spec.in_tasks && !b->spec.in_tasks &&
	       a->spec.row == b->spec.row && perf_spec_same(&a->spec.event, &b->spec.event);
}

static bool breakpoint_disturbs(struct count *other, void *arg)
{
	const struct count *c = arg;
	uint32_t type = other->spec.event.breakpoint;

	return type && type != HW_BREAKPOINT_X && breakpoints_may_meet(c, other) &&
	       !breakpoints_share(c, other) &&
	       breakpoint_is_near(&c->spec.event, &other->spec.event);
}

static int breakpoint_check_near(struct count *c, struct reason *why)
{
	if (!c->e->breakpoints.any_length || c->spec.event.breakpoint == HW_BREAKPOINT_X ||
	    !hotplug_any(c->e->hotplug, breakpoint_disturbs, c))
		return 0;
	return deny(why, -EINVAL, "another PMC watches memory less than %u bytes from 0x%llx, and "
		    "this CPU cannot tell their accesses apart: use one after the other", APART,
		    (unsigned long long)c->spec.event.config1);
}

/* --- the holder ------------------------------------------------------------------------------- */

static int hold_breakpoint_rank(const struct engine *e, const struct count_spec *spec)
{
	const struct count_row *row = target_count_row(e->targets, spec->row);

	if (LIST_EMPTY(&row->users))
		return 0;
	if (row->per_task)
		return spec->cgroup || !breakpoint_fits_tasks(spec) ? -1 : !spec->in_tasks;
	/* An event that perf switches with its cgroup has the registers for itself. */
	if (row->source < 0 || (spec->cgroup && !count_slices_cgroup(e, spec)))
		return -1;
	return !spec->in_tasks && perf_spec_same(&row->spec, &spec->event) ? 0 : -1;
}

static int hold_breakpoint_system(struct count *c, struct reason *why)
{
	int err = breakpoint_check_near(c, why) ?: count_pay(c, 1, 0, why);
	uint64_t since = 0;

	if (err)
		return err;
	do
		err = cpu_event_new(c, why);
	while (err && hold_breakpoint_comes(c, c->fd, &since));
	if (err)
		return c->fd == -EINVAL ? breakpoint_explain(c, c->fd, why) : err;
	count_row_add(c);
	return 0;
}

/* The first PMC of a row decides how it is used; while it waits, another may come first. */
static int hold_breakpoint_begin(struct count *c, struct count_row *row, struct reason *why)
{
	const struct perf_event_spec spec = count_state_event(c);
	uint64_t since = 0;
	int err;

	do {
		if (hold_breakpoint_rank(c->e, &c->spec) < 0)
			return deny(why, -EINVAL, "row %u (%s) counts another address",
				    c->spec.row, c->spec.row_name);
		if (!LIST_EMPTY(&row->users))
			return 0;
		row->per_task = c->spec.in_tasks;
		err = row->per_task ? 0 : count_row_begin(c, &spec, why);
	} while (err && hold_breakpoint_comes(c, err, &since));
	return err ? breakpoint_explain(c, err, why) : 0;
}

static int hold_breakpoint_cgroup(struct count *c, struct count_row *row, struct reason *why)
{
	int err = count_slices_cgroup(c->e, &c->spec) ? hold_breakpoint_begin(c, row, why) : 0;

	return err ?: count_row_add_cgroup(c, why);
}

static int hold_breakpoint_process(struct count *c, struct reason *why)
{
	struct count_row *row = target_count_row(c->e->targets, c->spec.row);
	int err = breakpoint_check_near(c, why);

	if (!err && c->spec.cgroup)
		return hold_breakpoint_cgroup(c, row, why);
	err = err ?: hold_breakpoint_begin(c, row, why);
	if (err)
		return err;
	c->backend = row->per_task ? &backend_task_events : &backend_slices;
	c->source = row->source;
	count_row_add(c);
	return 0;
}

static void hold_breakpoint_end(struct count *c)
{
	if (c->source >= 0)
		c->e->breakpoints.given = clock_ns();
	count_row_leave(c);
}

const struct count_holder holder_breakpoint = {
	.lost = " lost its breakpoint register on some CPU to a debugger or perf; release the PMC "
		"and allocate again",
	.rank = hold_breakpoint_rank, .begin_system = hold_breakpoint_system,
	.begin_process = hold_breakpoint_process, .end = hold_breakpoint_end,
};

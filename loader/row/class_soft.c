/* SPDX-License-Identifier: BSD-2-Clause */
/* Class SOFT: events that the kernel counts without hardware.  Its rows are only numbers. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>

#include <sys/pmc.h>
#include <sys/pmclog.h>

#include "class.h"
#include "loader/kernel/kernel.h"
#include "row.h"
#include "soft.h"

#define CAPS_SOFT \
	(PMC_CAP_INTERRUPT | PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_USER | PMC_CAP_SYSTEM)

static int class_soft_add_rows(struct row_table *t, const struct class_machine *m,
			       struct reason *why)
{
	const struct row_class class = {
		.ops = &class_soft, .prefix = "SOFT", .numbered = true,
		.info = { .class = PMC_CLASS_SOFT, .caps = CAPS_SOFT, .width = 64,
			  .num = SOFT_ROWS, .perf_type = ~0u },
	};

	return row_add_class(t, &class, why);
}

/* True if the kernel has the event: an event whose tracepoint is missing is not registered. */
static bool class_soft_has(const struct class_machine *m, const struct soft_event *s)
{
	if (s->process == SOFT_OFFCPU)
		return programs_have(m->engine->programs, NEED_OFFCPU);
	return s->process != SOFT_HOOK ||
	       programs_have_hook(m->engine->programs, s->hook);
}

/* With one of PMC_CAP_USER and PMC_CAP_SYSTEM: counts only that side, or refuses the event. */
static int class_soft_plan_side(struct allocation *p, const struct soft_event *s,
				struct reason *why)
{
	bool user = p->a->caps & PMC_CAP_USER, kernel = p->a->caps & PMC_CAP_SYSTEM;

	if (user == kernel)
		return 0;
	switch (s->sides) {
	case SIDE_KERNEL:
		return user ? deny(why, -EINVAL, "%s happens in the kernel: usr would count "
				   "nothing", s->name) : 0;
	case SIDES_SAMPLED:
		if (!p->spec.sampling)
			return deny(why, -EOPNOTSUPP, "the kernel keeps the time of %s without "
				    "usr and os: leave them out, or sample it", s->name);
		break;
	case SIDES_COUNTED:
		break;
	case SIDES_UNKNOWN:
		return deny(why, -EOPNOTSUPP, "%s is counted without usr and os: leave them out",
			    s->name);
	}
	p->spec.event.user = user;
	p->spec.event.kernel = kernel;
	return 0;
}

/* The kernel's figures of a task have no sides, and no slices that could be logged. */
static enum soft_source class_soft_source(const struct allocation *p, const struct soft_event *s)
{
	/* A program counts them in cgroups, too; samples of them have been refused. */
	if (p->spec.cgroup && s->process == SOFT_MIGRATION)
		return SOFT_HOOK;
	/* perf counts a thread's migrations when it runs again; then it is sampled. */
	if (p->spec.thread && s->process == SOFT_MIGRATION && !p->spec.sampling)
		return SOFT_MIGRATION;
	if (p->system || p->spec.thread || p->spec.cgroup || p->a->group ||
	    (p->a->flags & ALLOCATION_LOGS && !p->spec.sampling))
		return s->system;
	return p->spec.event.user || p->spec.event.kernel ? SOFT_PERF : s->process;
}

static void class_soft_fill(struct allocation *p, const struct soft_event *s)
{
	static const enum count_from from[] = {
		[SOFT_TASK] = COUNT_FROM_FIGURES, [SOFT_PERF] = COUNT_FROM_EVENT,
		[SOFT_HOOK] = COUNT_FROM_HOOK, [SOFT_OFFCPU] = COUNT_FROM_OFFCPU,
		[SOFT_MIGRATION] = COUNT_FROM_MIGRATION,
	};

	p->spec.from = from[class_soft_source(p, s)];
	p->spec.alone = p->spec.thread && (p->spec.from == COUNT_FROM_HOOK ||
					   p->spec.from == COUNT_FROM_MIGRATION);
	p->spec.quantity = s->quantity;
	p->spec.hook = s->hook;
	p->spec.rate = s->rate;
	if (s->sides == SIDES_SAMPLED)
		p->ticks = s->rate ? s->rate : NS_PER_S;
	p->values = s->address ? PMCLOG_VALUE_ADDR : 0;
	p->spec.timer = s->sides == SIDES_SAMPLED && !s->rate ? s->name : NULL;
}

/* Waits are samples with lengths of their own. */
static int class_soft_check_offcpu(const struct allocation *p, const struct soft_event *s,
				   struct reason *why)
{
	if (s->system != SOFT_OFFCPU)
		return 0;
	if (!p->spec.sampling)
		return deny(why, -EOPNOTSUPP, "%s can be sampled, not counted: how long a thread "
			    "has waited is known when it runs again, not at a reading", s->name);
	if (p->a->rate || p->a->values || p->a->precise || p->a->branch)
		return deny(why, -EOPNOTSUPP, "%s: a sample is a wait, with its own length and no "
			    "rate; leave out freq= and values", s->name);
	if (p->a->flags & PMC_F_KGMON)
		return deny(why, -EINVAL, "PMC_F_KGMON: a profile of the kernel has samples of one "
			    "weight, and each of %s has its own", s->name);
	return 0;
}

static bool class_soft_has_cgroups(const struct allocation *p, const struct soft_event *s)
{
	if (s->system == SOFT_HOOK || s->process == SOFT_MIGRATION)
		return count_slices_cgroup(p->machine->engine, &p->spec);
	return s->system == SOFT_PERF || s->system == SOFT_OFFCPU;
}

static int class_soft_plan(struct allocation *p, struct reason *why)
{
	const struct soft_event *s = soft_by_code(p->a->event);
	int err;

	if (!s || !class_soft_has(p->machine, s))
		return deny(why, -EINVAL, "this kernel has no software event 0x%x; "
			    "pmccontrol -L (GETDYNEVENTINFO) lists what it has", p->a->event);
	/* A counter that a program increments has no overflow. */
	err = class_soft_check_offcpu(p, s, why);
	if (err)
		return err;
	if (p->spec.sampling && s->system == SOFT_HOOK)
		return deny(why, -EOPNOTSUPP, "%s can be counted, not sampled", s->name);
	if (p->spec.cgroup && !class_soft_has_cgroups(p, s))
		return deny(why, -EOPNOTSUPP, "%s cannot be counted for a cgroup: count its "
			    "processes", s->name);
	/* The kernel counts a migration on the CPU of the process that wakes this one. */
	if (p->a->flags & ALLOCATION_LOGS && s->process == SOFT_MIGRATION)
		return deny(why, -EOPNOTSUPP, "%s has no time slices that could be logged",
			    s->name);
	if (p->a->group && !p->system && s->process == SOFT_MIGRATION)
		return deny(why, -EOPNOTSUPP, "%s has no time slices, in which groups are counted: "
			    "count it outside of the group", s->name);
	if (!p->a->caps)
		return deny(why, -EINVAL, "a software event needs a capability, such as READ");
	snprintf(p->name, sizeof(p->name), "%s", s->name);
	p->spec.event = (struct perf_event_spec){
		.type = PERF_TYPE_SOFTWARE, .config = s->perf_config,
	};
	if (p->spec.thread && !p->spec.sampling && s->sides == SIDES_SAMPLED)
		p->spec.event.config = PERF_COUNT_SW_TASK_CLOCK;
	/* On a CPU, task-clock is the time of all tasks, whatever their cgroup. */
	if (p->spec.cgroup && s->sides == SIDES_SAMPLED)
		p->spec.event.config = PERF_COUNT_SW_CPU_CLOCK;
	err = class_soft_plan_side(p, s, why);
	if (err)
		return err;
	class_soft_fill(p, s);
	return p->spec.alone || s->process == SOFT_OFFCPU ? class_check_thread(p, why) : 0;
}

static bool class_soft_event_at(const struct class_machine *m, const struct row_class *class,
				unsigned int i, struct class_event *ev)
{
	if (i >= soft_nevents)
		return false;
	*ev = (struct class_event){
		.code = soft_events[i].code, .prefix = "",
		.name = class_soft_has(m, &soft_events[i]) ? soft_events[i].name : "",
	};
	return true;
}

const struct class_ops class_soft = {
	.events = PMC_CLASS_SOFT, .separator = "", .threads = true, .cgroups = true,
	.overflows = true, .holder = &holder_own,
	.add_rows = class_soft_add_rows, .plan = class_soft_plan, .event_at = class_soft_event_at,
};

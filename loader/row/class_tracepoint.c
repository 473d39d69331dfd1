/* SPDX-License-Identifier: BSD-2-Clause */
/* Class TRACEPOINT: the kernel's trace events, named SYSTEM:NAME.  Its rows are only numbers. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#include <sys/pmc.h>
#include <sys/pmclog.h>

#include "class.h"
#include "loader/kernel/kernel.h"
#include "loader/policy/policy.h"
#include "row.h"

/* A process has as many sliced PMCs. */
#define ROWS ABI_MAX_MEMBERS

#define CAPS_TRACEPOINT (PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_SYSTEM | PMC_CAP_QUALIFIER | \
			 PMC_CAP_INTERRUPT)

static int class_tracepoint_add_rows(struct row_table *t, const struct class_machine *m,
				     struct reason *why)
{
	const struct row_class class = {
		.ops = &class_tracepoint, .prefix = "TRACEPOINT", .numbered = true,
		.info = { .class = PMC_CLASS_TRACEPOINT, .caps = CAPS_TRACEPOINT, .width = 64,
			  .num = ROWS, .perf_type = ~0u },
	};

	if (tracefs_here())
		return row_add_class(t, &class, why);
	messages_put(m->messages, LOG_WARNING, "no tracepoints: tracefs is not mounted, or may not "
		     "be read; mount it at /sys/kernel/tracing and restart pmcbpfd");
	return 0;
}

/* The system of the event, with its colon. */
static bool system_is(const char *name, const char *system)
{
	return !strncmp(name, system, strlen(system));
}

/* These events show what the process itself asked for; all others show the kernel's work. */
static bool tracepoint_is_plain(const char *name)
{
	return system_is(name, "syscalls:") || system_is(name, "raw_syscalls:") ||
	       system_is(name, "exceptions:");
}

static int class_tracepoint_plan_name(struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;

	if (!memchr(a->event_name, '\0', sizeof(a->event_name)) ||
	    !tracefs_name_valid(a->event_name))
		return deny(why, -EINVAL, "\"%.*s\" is no tracepoint's name: write SYSTEM:NAME, as "
			    "syscalls:sys_enter_openat", (int)sizeof(a->event_name) - 1,
			    a->event_name);
	memcpy(p->name, a->event_name, sizeof(p->name));
	p->spec.tracepoint = p->name;
	if (a->config || a->config1 || a->config2)
		return deny(why, -EINVAL, "%s: a tracepoint has a name and a filter, no "
			    "configuration", p->name);
	if (system_is(p->name, "ftrace:"))
		return deny(why, -EOPNOTSUPP, "%s is an entry of the function tracer, not a place "
			    "that the kernel passes; trace-cmd(1) records it", p->name);
	return 0;
}

/* perf adds the time in these events instead of 1; our own programs do not. */
static int class_tracepoint_plan_cgroup(const struct allocation *p, struct reason *why)
{
	if (!p->spec.cgroup || p->spec.sampling || !system_is(p->name, "sched:sched_stat_") ||
	    count_slices_cgroup(p->machine->engine, &p->spec))
		return 0;
	return deny(why, -EOPNOTSUPP, "perf counts nanoseconds of %s for a cgroup, not hits: count "
		    "the processes", p->name);
}

/*
 * perf counts a thread's hits, but some of them also for the task that an event is about: these
 * are counted in the thread's slices.
 */
static int class_tracepoint_plan_thread(struct allocation *p, struct reason *why)
{
	p->spec.alone = p->spec.thread && !p->spec.sampling &&
			(system_is(p->name, "sched:sched_stat_") ||
			 system_is(p->name, "sched:sched_wak"));
	return p->spec.alone || p->spec.sampling ? class_check_thread(p, why) : 0;
}

static int class_tracepoint_plan_filter(struct allocation *p, struct reason *why)
{
	const char *filter = p->a->filter;

	if (!*filter)
		return 0;
	if (!memchr(filter, '\0', sizeof(p->a->filter)))
		return deny(why, -EINVAL, "filter: it has at most %zu characters",
			    sizeof(p->a->filter) - 1);
	for (const char *c = filter; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return deny(why, -EINVAL, "filter: character %td is a control character",
				    c - filter + 1);
	if (!p->system && !p->spec.thread && !p->spec.cgroup && !p->spec.sampling &&
	    !strcmp(p->name, "sched:sched_switch"))
		return deny(why, -EOPNOTSUPP, "sched:sched_switch ends a process's time slice, so "
			    "that no filter can run before it: leave the filter out, or count "
			    "CPUs");
	/* perf adds the time in the event instead of 1. */
	if (system_is(p->name, "sched:sched_stat_") && !p->spec.sampling)
		return deny(why, -EOPNOTSUPP, "with a filter perf counts nanoseconds of %s, not "
			    "hits: leave the filter out", p->name);
	p->spec.event.filter = filter;
	return 0;
}

static int class_tracepoint_plan(struct allocation *p, struct reason *why)
{
	struct setting_question q = { 0 };
	uint64_t id = 0;
	int err = class_tracepoint_plan_name(p, why);

	if (err)
		return err;
	q.event = p->name;
	q.admin = !tracepoint_is_plain(p->name);
	q.filter = *p->a->filter != '\0';
	q.jailed = p->jailed;
	/* Names are no secret: a wrong one is refused as such, whoever asks. */
	err = tracepoints_id(p->machine->engine->tracepoints, p->name, &id, why);
	if (err == -ENOENT)
		err = -EINVAL;
	err = err ?: grant_check(p->by, POINT_TRACEPOINT, p->cred, &q, why);
	p->spec.from = COUNT_FROM_TRACEPOINT;
	p->values = PMCLOG_VALUE_RAW;
	p->spec.event = (struct perf_event_spec){
		.type = PERF_TYPE_TRACEPOINT, .config = id,
		.raw = p->spec.sampling && p->a->values & PMCLOG_VALUE_RAW,
	};
	err = err ?: class_tracepoint_plan_thread(p, why);
	err = err ?: class_tracepoint_plan_cgroup(p, why);
	err = err ?: class_tracepoint_plan_filter(p, why);
	if (!err && p->spec.event.filter)
		err = tracepoints_check(p->machine->engine->tracepoints, p->name, &p->spec.event,
					&p->filter_refused, why);
	return err;
}

static void class_tracepoint_list(const struct class_machine *m)
{
	tracepoints_list(m->engine->tracepoints);
}

static bool class_tracepoint_event_at(const struct class_machine *m,
				      const struct row_class *class,
				      unsigned int i, struct class_event *ev)
{
	const char *name = tracepoints_listed(m->engine->tracepoints, i);

	if (!name)
		return false;
	/* Nobody can name a longer one. */
	*ev = (struct class_event){
		.flags = tracepoint_is_plain(name) ? 0 : WIRE_TRACEPOINT_ADMIN, .prefix = "",
		.name = strlen(name) < WIRE_NAME_MAX && !system_is(name, "ftrace:") ? name : "",
	};
	return true;
}

const struct class_ops class_tracepoint = {
	.events = PMC_CLASS_TRACEPOINT, .separator = "", .shared = true, .filters = true,
	.threads = true, .cgroups = true, .values = PMCLOG_VALUE_RAW, .holder = &holder_own,
	.add_rows = class_tracepoint_add_rows,
	.plan = class_tracepoint_plan, .list = class_tracepoint_list,
	.event_at = class_tracepoint_event_at,
};

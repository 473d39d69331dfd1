/* SPDX-License-Identifier: BSD-2-Clause */
/* Class SOFT: the kernel's software events, which the daemon lists. */
#include <errno.h>
#include <string.h>

#include "alias.h"
#include "class.h"
#include "suggest.h"

/* usr and os; the daemon decides whether the event distinguishes them. */
static int soft_qualifier(const struct evspec_pair *qual, struct wire_allocate_req *req,
			  struct reason *why)
{
	int taken = class_side_take(qual, req, why);

	if (taken)
		return taken < 0 ? taken : 0;
	return class_qualifier_deny(qual, "a software event", "usr and os" CLASS_SAMPLES, why);
}

static int soft_resolve(const struct machine *m, const char *root,
			const struct wire_classinfo *info, const struct evspec *spec,
			struct wire_allocate_req *req, struct reason *why)
{
	const char *other = alias_soft_event(spec->event);
	struct nearest near;
	unsigned int i;
	int err = 0;

	for (i = 0; i < m->soft.n; i++)
		if (evspec_same(spec->event, m->soft.event[i].name) ||
		    (other && evspec_same(other, m->soft.event[i].name)))
			break;
	/* The search for the nearest name takes longer than all else: not for a tracepoint. */
	if (i == m->soft.n && spec->class < 0 && strchr(spec->event, ':'))
		return -ENOENT;
	if (i == m->soft.n)
		return deny(why, -ENOENT, "no SOFT event \"%s\"%s; \"pmccontrol -L\" "
			    "lists them", spec->event,
			    suggest_event(m, root, spec->event, PMC_CLASS_SOFT, &near));
	req->event = m->soft.event[i].code;
	req->caps = PMC_CAP_READ | PMC_CAP_WRITE;
	memcpy(req->event_name, m->soft.event[i].name, sizeof(req->event_name));
	for (i = 0; i < spec->nquals && !err; i++)
		err = soft_qualifier(&spec->quals[i], req, why);
	return err;
}

static int soft_each(const struct machine *m, const char *root, const struct wire_classinfo *info,
		     event_fn *fn, void *arg)
{
	int err = 0;

	for (unsigned int i = 0; i < m->soft.n && !err; i++)
		err = fn(arg, &(struct event){ .name = m->soft.event[i].name });
	return err;
}

static struct machine_events *soft_listed(struct machine *m)
{
	return &m->soft;
}

/* As far as the clock is fine enough. */
static uint64_t soft_period(const char *name)
{
	static const struct {
		const char *event;
		uint64_t period;
	} clocks[] = {
		{ "CLOCK.HARD", 1 }, { "CLOCK.STAT", 1 }, { "CLOCK.PROF", 8 },
		{ "CPU_CLOCK", 1000000 }, { "TASK_CLOCK", 1000000 },
		{ "OFFCPU_TIME", 1000000 },
	};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (strcmp(name, clocks[i].event) == 0)
			return clocks[i].period;
	return 0;
}

const struct event_class class_soft = {
	.bare = true, .resolve = soft_resolve, .each = soft_each, .listed = soft_listed,
	.period = soft_period,
};

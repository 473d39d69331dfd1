/* SPDX-License-Identifier: BSD-2-Clause */
/* The hardware classes: counters of a PMU, named by sysfs, libpfm4 and perf. */
#include <errno.h>
#include <string.h>

#include "class.h"
#include "intern.h"
#include "lib/base/generic.h"
#include "pfm.h"
#include "pmu_event.h"

/* perf's own event of that name, if the PMU has it; else NULL. */
static const struct machine_event *generic_find(const struct machine *m, const char *name)
{
	for (unsigned int i = 0; i < m->generic.n; i++) {
		const struct generic_event *e = generic_by_code(m->generic.event[i].code);

		if (e && (evspec_same(name, e->name) ||
			  (e->second && evspec_same(name, e->second))))
			return &m->generic.event[i];
	}
	return NULL;
}

/* The kernel encodes it: fields of the PMU would not fit. */
static int generic_resolve(const struct evspec *spec, const struct machine_event *event,
			   struct wire_allocate_req *req, struct reason *why)
{
	int taken = 1;

	req->event = event->code;
	req->caps = PMC_CAP_READ | PMC_CAP_WRITE;
	memcpy(req->event_name, event->name, sizeof(req->event_name));
	for (unsigned int i = 0; i < spec->nquals && taken > 0; i++) {
		taken = class_side_take(&spec->quals[i], req, why);
		if (!taken)
			return class_qualifier_deny(&spec->quals[i], "an event that the kernel "
						    "encodes", "usr and os" CLASS_SAMPLES,
						    why);
	}
	return taken < 0 ? taken : 0;
}

static int hardware_resolve(const struct machine *m, const char *root,
			    const struct wire_classinfo *info, const struct evspec *spec,
			    struct wire_allocate_req *req, struct reason *why)
{
	struct pmu_event event;
	int err = info->pmu[0] ? pmu_event_find(root, info, spec, &event, why) : -ENOENT;
	const struct machine_event *generic = NULL;

	req->pmu = info->perf_type;
	if (err == -ENOENT && info->pmu[0] && spec->class != PMC_CLASS_IAF)
		generic = generic_find(m, spec->event);
	if (generic)
		return generic_resolve(spec, generic, req, why);
	if (err)
		return err;
	req->event = intern_event(event.name, NULL);
	if (!req->event)
		return -ENOMEM;
	/*
	 * The configuration words are complete; a capability that the class lacks would be refused.
	 */
	req->caps = PMC_CAP_READ | PMC_CAP_WRITE | (event.caps & info->caps) |
		    (event.usr ? PMC_CAP_USER : 0) | (event.os ? PMC_CAP_SYSTEM : 0);
	req->config = event.config[0];
	req->config1 = event.config[1];
	req->config2 = event.config[2];
	memcpy(req->event_name, event.name, sizeof(req->event_name));
	return 0;
}

struct hardware_list {
	event_fn *fn;
	void *arg;
};

static int hardware_kernel(void *arg, const char *name, const char *text)
{
	const struct hardware_list *l = arg;

	return l->fn(l->arg, &(struct event){ .name = name, .desc = text, .terms = text });
}

static int hardware_pfm(void *arg, const struct pfm_event *event)
{
	const struct hardware_list *l = arg;

	return l->fn(l->arg, &(struct event){ .name = event->name, .desc = event->desc,
					      .more = event->umask_desc, .again = true });
}

static int hardware_generic(const struct hardware_list *l, const struct machine_event *event)
{
	const struct generic_event *e = generic_by_code(event->code);

	return l->fn(l->arg, &(struct event){ .name = event->name, .again = true,
					      .desc = e ? e->desc : "perf's event" });
}

static int hardware_each(const struct machine *m, const char *root,
			 const struct wire_classinfo *info, event_fn *fn, void *arg)
{
	struct hardware_list list = { fn, arg };
	int err, kernel;

	if (!info || !info->pmu[0])
		return 0;
	kernel = pmu_each(root, info->pmu, hardware_kernel, &list);
	if (kernel > 0)
		return kernel;
	err = pfm_each(hardware_pfm, &list);
	for (unsigned int i = 0; i < m->generic.n && !err; i++)
		err = hardware_generic(&list, &m->generic.event[i]);
	return err ? err : kernel;
}

static struct machine_events *hardware_listed(struct machine *m)
{
	return &m->generic;
}

/* Primes, so that a loop's length does not fall in step with the samples. */
static uint64_t hardware_period(const char *name)
{
	static const struct {
		const char *part;
		uint64_t period;
	} rates[] = {
		{ "cycles", 2000003 }, { "clk", 2000003 }, { "inst", 2000003 },
	};

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (strcasestr(name, rates[i].part))
			return rates[i].period;
	return 100003;
}

const struct event_class class_hardware = {
	.bare = true, .hardware = true, .interned = true, .described = true,
	.resolve = hardware_resolve, .each = hardware_each, .listed = hardware_listed,
	.period = hardware_period,
};

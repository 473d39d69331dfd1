/* SPDX-License-Identifier: BSD-2-Clause */
/* The hardware classes: counters of a PMU, named by sysfs and libpfm4. */
#include <errno.h>
#include <string.h>

#include "class.h"
#include "intern.h"
#include "pfm.h"
#include "pmu_event.h"

static int hardware_resolve(const struct machine *m, const char *root,
			    const struct wire_classinfo *info, const struct evspec *spec,
			    struct wire_allocate_req *req, struct reason *why)
{
	struct pmu_event event;
	int err = info->pmu[0] ? pmu_event_find(root, info, spec, &event, why) : -ENOENT;

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
	return err ? err : kernel;
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
	.resolve = hardware_resolve, .each = hardware_each, .period = hardware_period,
};

/* SPDX-License-Identifier: BSD-2-Clause */
/* The hardware classes: one for each PMU of the CPUs, with a row for each counter. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sys/pmc.h>

#include "class.h"
#include "lib/base/cpuranges.h"
#include "lib/base/generic.h"
#include "loader/base/base.h"
#include "row.h"

#define CAPS_HARDWARE                                                                      \
	(PMC_CAP_INTERRUPT | PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_USER | PMC_CAP_SYSTEM | \
	 PMC_CAP_EDGE | PMC_CAP_THRESHOLD | PMC_CAP_INVERT | PMC_CAP_QUALIFIER)

/*
 * perf's own event, for this PMU.  The kernel looks for the PMU by itself unless there are several
 * kinds of CPUs.
 */
static struct perf_event_spec generic_spec(uint32_t pmu, bool everywhere,
					   const struct generic_event *e)
{
	return (struct perf_event_spec){
		.type = e->type, .pmu = pmu,
		.config = e->config | (everywhere ? 0 : (uint64_t)pmu << 32),
	};
}

/* The events that the PMU's driver knows, by their position in the table. */
static uint64_t generic_find(const struct perf_pmu *pmu)
{
	uint64_t known = 0;

	for (unsigned int i = 0; i < GENERIC_EVENTS; i++) {
		struct perf_event_spec spec = generic_spec(pmu->type, pmu->everywhere,
							   &generic_events[i]);

		if (perf_knows(pmu, &spec))
			known |= 1ull << i;
	}
	return known;
}

static int class_hardware_add_rows(struct row_table *t, const struct class_machine *m,
				   struct reason *why)
{
	struct perf_pmu pmus[WIRE_CLASS_MAX];
	/* numbers are left for the classes BREAKPOINT, MSR and PERF */
	int n = perf_discover(pmus, WIRE_CLASS_MAX - 3 - t->nclass, why), err = 0;

	for (int i = 0; i < n && !err; i++) {
		struct row_class class = {
			.ops = &class_hardware, .numbered = true,
			.everywhere = pmus[i].everywhere, .generic = generic_find(&pmus[i]),
			.info = { .class = pmus[i].class, .caps = CAPS_HARDWARE,
				  .width = pmus[i].width, .num = pmus[i].rows,
				  .perf_type = pmus[i].type },
		};

		DEBUG(m->debug, MD, INIT, "%s: PMU %s has %u counters of %u bits", pmus[i].prefix,
		      pmus[i].name, pmus[i].rows, pmus[i].width);
		memcpy(class.prefix, pmus[i].prefix, sizeof(class.prefix));
		memcpy(class.info.pmu, pmus[i].name, sizeof(class.info.pmu));
		err = row_add_class(t, &class, why);
	}
	return n < 0 ? n : err;
}

static int plan_generic(struct allocation *p, const struct generic_event *e, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;

	if (!(p->class->generic >> (e - generic_events) & 1))
		return deny(why, -EINVAL, "the kernel's driver of PMU %s has no event %s; "
			    "\"pmccontrol -L\" lists those that exist", p->class->info.pmu,
			    e->name);
	if (a->config || a->config1 || a->config2)
		return deny(why, -EINVAL, "%s: the kernel encodes it, so that it takes no "
			    "configuration", e->name);
	snprintf(p->name, sizeof(p->name), "%s", e->name);
	p->numberless = true;
	p->spec.event = generic_spec(p->class->info.perf_type, p->class->everywhere, e);
	return 0;
}

static int plan_number(struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	int err = class_name_take(p, why);

	if (err)
		return err;
	snprintf(p->number, sizeof(p->number), a->config1 || a->config2 ?
		 "0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 : "0x%" PRIx64, a->config, a->config1,
		 a->config2);
	p->spec.event = (struct perf_event_spec){
		.type = p->class->info.perf_type, .pmu = p->class->info.perf_type,
		.config = a->config, .config1 = a->config1, .config2 = a->config2,
	};
	return 0;
}

/* Of several kinds of CPUs each has its own PMU. */
static int plan_cpu(const struct allocation *p, struct reason *why)
{
	struct pmus_one pmu = { .type = p->class->info.perf_type };
	char cpus[4096];

	if (!p->system || p->class->everywhere)
		return 0;
	memcpy(pmu.name, p->class->info.pmu, sizeof(pmu.name));
	if (pmus_cpus(&pmu, cpus, sizeof(cpus)) || cpuranges_has(cpus, p->cpu))
		return 0;
	return deny(why, -EINVAL, "PMU %s counts on CPU %.200s, not on CPU %u", pmu.name, cpus,
		    p->cpu);
}

static int class_hardware_plan(struct allocation *p, struct reason *why)
{
	const struct generic_event *e = generic_by_code(p->a->event);
	int err = plan_cpu(p, why);

	if (!err)
		err = e ? plan_generic(p, e, why) : plan_number(p, why);
	p->spec.event.user = p->a->caps & PMC_CAP_USER;
	p->spec.event.kernel = p->a->caps & PMC_CAP_SYSTEM;
	p->spec.event.of_kind = !p->class->everywhere;
	p->spec.event.timed = p->class->everywhere;
	return err;
}

static bool class_hardware_event_at(const struct class_machine *m, const struct row_class *class,
				    unsigned int i, struct class_event *ev)
{
	if (i >= GENERIC_EVENTS)
		return false;
	*ev = (struct class_event){
		.code = PMC_EV_PERF_FIRST + i, .prefix = "",
		.name = class && class->generic >> i & 1 ? generic_events[i].name : "",
	};
	return true;
}

const struct class_ops class_hardware = {
	.separator = "-", .rediscovered = true, .counters = true, .threads = true,
	.cgroups = true, .overflows = true,
	.holder = &holder_counter,
	.add_rows = class_hardware_add_rows, .plan = class_hardware_plan,
	.event_at = class_hardware_event_at,
};

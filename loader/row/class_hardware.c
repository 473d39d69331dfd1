/* SPDX-License-Identifier: BSD-2-Clause */
/* The hardware classes: one for each PMU of the CPUs, with a row for each counter. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sys/pmc.h>

#include "class.h"
#include "loader/base/base.h"
#include "row.h"

#define CAPS_HARDWARE                                                                      \
	(PMC_CAP_INTERRUPT | PMC_CAP_READ | PMC_CAP_WRITE | PMC_CAP_USER | PMC_CAP_SYSTEM | \
	 PMC_CAP_EDGE | PMC_CAP_THRESHOLD | PMC_CAP_INVERT | PMC_CAP_QUALIFIER)

static int class_hardware_add_rows(struct row_table *t, const struct class_machine *m,
				   struct reason *why)
{
	struct perf_pmu pmus[WIRE_CLASS_MAX];
	/* numbers are left for the classes BREAKPOINT and MSR */
	int n = perf_discover(pmus, WIRE_CLASS_MAX - 2 - t->nclass, why), err = 0;

	for (int i = 0; i < n && !err; i++) {
		struct row_class class = {
			.ops = &class_hardware, .numbered = true,
			.everywhere = pmus[i].everywhere,
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

static int class_hardware_plan(struct allocation *p, struct reason *why)
{
	const struct wire_allocate_req *a = p->a;
	const char *end = memchr(a->event_name, '\0', sizeof(a->event_name));

	for (const char *c = a->event_name; end && c < end; c++)
		if (!isprint((unsigned char)*c))
			end = NULL;
	if (!end)
		return deny(why, -EINVAL, "an event's name is printable and at most %u bytes long",
			    WIRE_NAME_MAX - 1);
	memcpy(p->name, a->event_name, sizeof(p->name));
	p->named_by_client = true;
	snprintf(p->number, sizeof(p->number), a->config1 || a->config2 ?
		 "0x%" PRIx64 "/0x%" PRIx64 "/0x%" PRIx64 : "0x%" PRIx64, a->config, a->config1,
		 a->config2);
	p->spec.event = (struct perf_event_spec){
		.type = p->class->info.perf_type,
		.config = a->config, .config1 = a->config1, .config2 = a->config2,
		.user = a->caps & PMC_CAP_USER, .kernel = a->caps & PMC_CAP_SYSTEM,
		.timed = p->class->everywhere,
	};
	return 0;
}

const struct class_ops class_hardware = {
	.separator = "-", .rediscovered = true, .counters = true, .threads = true,
	.holder = &holder_counter,
	.add_rows = class_hardware_add_rows, .plan = class_hardware_plan,
};

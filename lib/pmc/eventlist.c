/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc(3): lists of events, of a class and of the hardware PMUs, with descriptions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "lib.h"

#define EVENT_LIST_MAX 20000u	/* no CPU has as many; bounds the memory that sysfs can cause */

/* --- pmc_event_names_of_class() -------------------------------------------------------------- */

struct list {
	const char **names;	/* interned, or literals */
	unsigned int count, room;
	unsigned int unique;	/* the first so many may come again from another source */
};

static int list_add(struct list *l, const char *name)
{
	if (l->count == 2 * EVENT_LIST_MAX || array_reserve(l->names, l->room, l->count + 1) != 0)
		return -ENOMEM;
	l->names[l->count++] = name;
	return 0;
}

static int list_kernel(void *arg, const char *name, const char *text)
{
	const char *kept;

	return intern_event(name, &kept) ? list_add(arg, kept) : -ENOMEM;
}

static int list_pfm(void *arg, const struct pfm_event *event)
{
	struct list *l = arg;
	const char *kept;
	unsigned int i;

	for (i = 0; i < l->unique; i++)
		if (evspec_same(l->names[i], event->name))
			return 0;
	return intern_event(event->name, &kept) ? list_add(l, kept) : -ENOMEM;
}

static int list_hardware(struct list *l, const struct wire_classinfo *class)
{
	int err = pmu_each(PMU_ROOT, class->pmu, list_kernel, l);

	if (err)
		return err;
	l->unique = l->count;
	return pfm_each(list_pfm, l);
}

static int list_class(struct list *l, enum pmc_class class_)
{
	const struct wire_classinfo *class = machine_class(&pmc_lib.machine, class_);
	unsigned int i;
	int err = 0;

	if (class_ == PMC_CLASS_TSC)
		return list_add(l, "TSC");
	if (class_ == PMC_CLASS_SOFT)
		for (i = 0; i < pmc_lib.machine.soft.n && !err; i++)
			err = list_add(l, pmc_lib.machine.soft.event[i].name);
	else if (class_ == PMC_CLASS_MSR)
		for (i = 0; i < pmc_lib.machine.msr.n && !err; i++)
			err = list_add(l, pmc_lib.machine.msr.event[i].name);
	else if (class && machine_class_is_hardware(class))
		err = list_hardware(l, class);
	return err;
}

static int list_names(enum pmc_class class_, const char ***names, int *nevents,
		      struct reason *why)
{
	struct list l = { .names = malloc(sizeof(*l.names)), .room = 1 };
	int err;

	if (!l.names)
		return -ENOMEM;
	err = list_class(&l, class_);
	if (err) {
		free(l.names);
		return deny(why, err, "the events of class %s cannot be listed: %s",
			    pmc_name_of_class(class_), strerror(-err));
	}
	*names = l.names;
	*nevents = l.count;
	return 0;
}

PMC_API_PUBLIC int pmc_event_names_of_class(enum pmc_class class_, const char ***names,
					    int *nevents)
{
	if (!names || !nevents)
		return call_end(call_missing(call_begin(), names ? "nevents" : "names"));
	if (!pmc_name_of_class(class_))
		return -1;
	return call_leave(list_names(class_, names, nevents, call_enter()));
}

/* --- pmc_pmu_*() ----------------------------------------------------------------------------- */

enum style { STYLE_NAME, STYLE_DESC, STYLE_LONG, STYLE_FULL };

/* The form in which events are printed, and the number of events so far. */
struct printer {
	enum style style;
	const char *substr;	/* NULL: all */
	const char *pmu;
	unsigned int count;
};

/* Prints an event; `terms` is NULL if libpfm4 describes it. */
static void printer_event(struct printer *p, const char *name, const char *desc, const char *more,
			  const char *terms)
{
	if (p->substr && !strcasestr(name, p->substr))
		return;
	p->count++;
	switch (p->style) {
	case STYLE_NAME:
		printf("\t%s\n", name);
		break;
	case STYLE_DESC:
		printf("%s:\t%s\n", name, more ? more : desc);
		break;
	case STYLE_LONG:
		printf("%s:\n%s%s%s\n", name, desc, more ? ": " : "", more ? more : "");
		break;
	case STYLE_FULL:
		printf("name: %s\n\tdesc: %s%s%s\n", name, desc, more ? ": " : "",
		       more ? more : "");
		if (terms)
			printf("\tevent: %s\n", terms);
		printf("\tpmu: %s\n", p->pmu);
		break;
	}
}

static int printer_kernel(void *arg, const char *name, const char *text)
{
	struct printer *p = arg;

	printer_event(p, name, text, NULL, text);
	return 0;
}

static int printer_pfm(void *arg, const struct pfm_event *event)
{
	struct printer *p = arg;

	printer_event(p, event->name, event->desc, event->umask_desc, NULL);
	return 0;
}

/* "for CPUs: perf; for processes: perf; CAP_PERFMON" */
static void msr_describe(const struct machine_event *e, char *buf, size_t size)
{
	snprintf(buf, size, "for CPUs: %s; for processes: %s%s",
		 e->flags & WIRE_MSR_SYSTEM_MODULE ? "module" :
		 e->flags & WIRE_MSR_SYSTEM_PERF ? "perf" : "not",
		 e->flags & WIRE_MSR_PROCESS_MODULE ? "module" :
		 e->flags & WIRE_MSR_PROCESS_PERF ? "perf" : "not",
		 e->flags & WIRE_MSR_ADMIN ? "; needs CAP_PERFMON" : "");
}

static void printer_msr(struct printer *p)
{
	char text[96];

	for (unsigned int i = 0; i < pmc_lib.machine.msr.n; i++) {
		const struct machine_event *e = &pmc_lib.machine.msr.event[i];

		msr_describe(e, text, sizeof(text));
		printer_event(p, e->name, text, NULL, NULL);
	}
}

static void printer_events(enum style style, const char *substr)
{
	struct printer registers = { .style = style, .substr = substr, .pmu = "msr" };
	unsigned int i;

	for (i = 0; i < pmc_lib.machine.cpu.nclass; i++) {
		const struct wire_classinfo *class = &pmc_lib.machine.cpu.classes[i];
		struct printer p = { .style = style, .substr = substr, .pmu = class->pmu };

		if (!machine_class_is_hardware(class))
			continue;
		pmu_each(PMU_ROOT, class->pmu, printer_kernel, &p);
		pfm_each(printer_pfm, &p);
	}
	/* Bare names of classes without tables come from pmc_event_names_of_class(). */
	if (style != STYLE_NAME)
		printer_msr(&registers);
}

PMC_API_PUBLIC void pmc_pmu_print_counters(const char *substr)
{
	printer_events(STYLE_NAME, substr);
}

PMC_API_PUBLIC void pmc_pmu_print_counter_desc(const char *substr)
{
	printer_events(STYLE_DESC, substr);
}

PMC_API_PUBLIC void pmc_pmu_print_counter_desc_long(const char *substr)
{
	printer_events(STYLE_LONG, substr);
}

PMC_API_PUBLIC void pmc_pmu_print_counter_full(const char *substr)
{
	printer_events(STYLE_FULL, substr);
}

static int event_found(void *arg, const char *name, const char *text)
{
	return 1;
}

static int event_found_pfm(void *arg, const struct pfm_event *event)
{
	return 1;
}

PMC_API_PUBLIC int pmc_pmu_enabled(void)
{
	unsigned int i;

	for (i = 0; i < pmc_lib.machine.cpu.nclass; i++) {
		const struct wire_classinfo *class = &pmc_lib.machine.cpu.classes[i];

		if (machine_class_is_hardware(class) &&
		    (pmu_each(PMU_ROOT, class->pmu, event_found, NULL) > 0 ||
		     pfm_each(event_found_pfm, NULL) > 0))
			return 1;
	}
	return 0;
}

/* --- suggested sampling periods -------------------------------------------------------------- */

#define RATE_UNKNOWN 65536u

struct rate {
	const char *event;	/* SOFT: the name; hardware: a part of it, "" the rest */
	uint64_t period;
};

/* About a thousand samples a second, as far as the clock is fine enough. */
static const struct rate soft_rates[] = {
	{ "CLOCK.HARD", 1 }, { "CLOCK.STAT", 1 }, { "CLOCK.PROF", 8 },
	{ "CPU_CLOCK", 1000000 }, { "TASK_CLOCK", 1000000 },
};

/* Primes, so that a loop's length does not fall in step with the samples. */
static const struct rate hardware_rates[] = {
	{ "cycles", 2000003 }, { "clk", 2000003 }, { "inst", 2000003 }, { "", 100003 },
};

PMC_API_PUBLIC uint64_t pmc_pmu_sample_rate_get(const char *event)
{
	struct wire_allocate_req req = { .caps = 0 };
	size_t i;

	if (!event || !pmc_lib.known ||
	    call_leave(resolve_event(&pmc_lib.machine, PMU_ROOT, event, &req, call_enter())) < 0)
		return RATE_UNKNOWN;
	if (req.class == PMC_CLASS_SOFT) {
		for (i = 0; i < sizeof(soft_rates) / sizeof(soft_rates[0]); i++)
			if (strcmp(req.event_name, soft_rates[i].event) == 0)
				return soft_rates[i].period;
	} else if (req.class != PMC_CLASS_TSC) {
		for (i = 0; i < sizeof(hardware_rates) / sizeof(hardware_rates[0]); i++)
			if (strcasestr(req.event_name, hardware_rates[i].event))
				return hardware_rates[i].period;
	}
	return RATE_UNKNOWN;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc(3): lists of events, of a class and of the hardware PMUs, with descriptions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "query.h"

#define EVENT_LIST_MAX 20000u	/* no CPU has as many; bounds the memory that sysfs can cause */

/* --- pmc_event_names_of_class() -------------------------------------------------------------- */

struct list {
	const struct event_class *class;
	const char **names;	/* interned, or literals */
	unsigned int count, room;
	unsigned int unique;	/* the first so many may come again from another source */
};

static int list_event(void *arg, const struct event *event)
{
	struct list *l = arg;
	const char *name = event->name;

	for (unsigned int i = 0; event->again && i < l->unique; i++)
		if (evspec_same(l->names[i], name))
			return 0;
	if (l->class->interned && !intern_event(event->name, &name))
		return -ENOMEM;
	if (l->count == 2 * EVENT_LIST_MAX || array_reserve(l->names, l->room, l->count + 1) != 0)
		return -ENOMEM;
	l->names[l->count++] = name;
	if (!event->again)
		l->unique = l->count;
	return 0;
}

static int list_class(struct list *l, enum pmc_class class_)
{
	const struct wire_classinfo *info = machine_class(&pmc_lib.machine, class_);

	l->class = class_of(class_);
	return l->class->each(&pmc_lib.machine, PMU_ROOT, info, list_event, l);
}

static int list_names(enum pmc_class class_, const char ***names, int *nevents,
		      struct reason *why)
{
	struct list l = { .names = NULL };
	int err, late;

	if (array_reserve(l.names, l.room, 1) != 0)	/* never NULL, even if empty */
		return -ENOMEM;
	pthread_mutex_lock(&pmc_lib.init);
	late = query_late_events(&pmc_lib, class_, why);
	err = late ? 0 : list_class(&l, class_);
	pthread_mutex_unlock(&pmc_lib.init);
	if (err || late)
		free(l.names);
	if (err)
		return deny(why, err, "the events of class %s cannot be listed: %s",
			    pmc_name_of_class(class_), strerror(-err));
	if (late)
		return late;
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

/* The form in which events are printed. */
struct printer {
	enum style style;
	const char *substr;	/* NULL: all */
	const char *pmu;
};

/* As in specifiers, case and some signs are the same. */
static bool printer_wants(const struct printer *p, const char *name)
{
	size_t n = p->substr ? strlen(p->substr) : 0;

	while (n && *name && !evspec_same_n(name, n, p->substr))
		name++;
	return !n || *name;
}

static int printer_event(void *arg, const struct event *event)
{
	struct printer *p = arg;
	const char *more = event->more;

	if (!printer_wants(p, event->name))
		return 0;
	switch (p->style) {
	case STYLE_NAME:
		printf("\t%s\n", event->name);
		break;
	case STYLE_DESC:
		printf("%s:\t%s\n", event->name, more ? more : event->desc);
		break;
	case STYLE_LONG:
		printf("%s:\n%s%s%s\n", event->name, event->desc, more ? ": " : "",
		       more ? more : "");
		break;
	case STYLE_FULL:
		printf("name: %s\n\tdesc: %s%s%s\n", event->name, event->desc, more ? ": " : "",
		       more ? more : "");
		if (event->terms)
			printf("\tevent: %s\n", event->terms);
		printf("\tpmu: %s\n", event->pmu ? event->pmu : p->pmu);
		break;
	}
	return 0;
}

/* Bare names of classes without a PMU come from pmc_event_names_of_class(). */
static void printer_events(enum style style, const char *substr)
{
	struct reason *why = call_enter();

	for (unsigned int i = 0; i < pmc_lib.machine.cpu.nclass; i++) {
		const struct wire_classinfo *info = &pmc_lib.machine.cpu.classes[i];
		const struct event_class *class = class_of(info->class);
		struct printer p = {
			.style = style, .substr = substr,
			.pmu = *info->pmu ? info->pmu : class->late ? "tracepoint" : "msr",
		};

		if (!(style == STYLE_NAME ? class->hardware : class->described))
			continue;
		pthread_mutex_lock(&pmc_lib.init);
		if (!query_late_events(&pmc_lib, info->class, why))
			class->each(&pmc_lib.machine, PMU_ROOT, info, printer_event, &p);
		pthread_mutex_unlock(&pmc_lib.init);
	}
	(void)call_leave(0);
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

static int event_found(void *arg, const struct event *event)
{
	return 1;
}

PMC_API_PUBLIC int pmc_pmu_enabled(void)
{
	for (unsigned int i = 0; i < pmc_lib.machine.cpu.nclass; i++) {
		const struct wire_classinfo *info = &pmc_lib.machine.cpu.classes[i];
		const struct event_class *class = class_of(info->class);

		if (class->hardware &&
		    class->each(&pmc_lib.machine, PMU_ROOT, info, event_found, NULL) > 0)
			return 1;
	}
	return 0;
}

/* --- units ------------------------------------------------------------------------------------ */

static int event_unit(const char *event, double *scale, char *unit, size_t size,
		      struct reason *why)
{
	struct wire_allocate_req req = { .caps = 0 };
	const struct event_class *class;
	char text[2 * WIRE_NAME_MAX] = "", *end;
	int err;

	if (!event || !scale || !unit || !size)
		return call_missing(why, !event ? "event" : !scale ? "scale" : "unit");
	if (!pmc_lib.known)
		return deny(why, -ENOSYS, "pmc_init() has not been called, or has failed");
	err = resolve_event(&pmc_lib.machine, PMU_ROOT, event, &req, why);
	class = err ? NULL : class_of(req.class);
	if (class && class->unit)
		class->unit(PMU_ROOT, req.event_name, text, sizeof(text));
	*scale = strtod(text, &end);
	if (end == text || *end != ' ')
		*scale = 1;
	snprintf(unit, size, "%s", *end == ' ' ? end + 1 : "");
	return err;
}

PMC_API_PUBLIC int pmc_event_unit(const char *event, double *scale, char *unit, size_t size)
{
	return call_leave(event_unit(event, scale, unit, size, call_enter()));
}

/* --- CPUs of several kinds ------------------------------------------------------------------- */

/* A list in one piece: the pointers, then the texts. */
static int kinds_copy(const struct event_kinds *kinds, char ***specs, struct reason *why)
{
	size_t size = kinds->n * sizeof(**specs);
	char **list, *text;

	for (unsigned int i = 0; i < kinds->n; i++)
		size += strlen(kinds->spec[i]) + 1;
	list = malloc(size + 1);
	if (!list)
		return deny(why, -ENOMEM, "no memory for a list of events");
	text = (char *)(list + kinds->n);
	for (unsigned int i = 0; i < kinds->n; i++) {
		list[i] = text;
		text = stpcpy(text, kinds->spec[i]) + 1;
	}
	*specs = list;
	return 0;
}

static int event_kinds(const char *event, enum pmc_mode mode, char ***specs, int *n,
		       struct reason *why)
{
	struct event_kinds *kinds;
	int err;

	if (!event || !specs || !n)
		return call_missing(why, !event ? "event" : !specs ? "specs" : "n");
	if (!pmc_lib.known)
		return deny(why, -ENOSYS, "pmc_init() has not been called, or has failed");
	kinds = malloc(sizeof(*kinds));
	if (!kinds)
		return deny(why, -ENOMEM, "no memory for a list of events");
	err = resolve_kinds(&pmc_lib.machine, PMU_ROOT, event, mode, kinds, why);
	err = err ? query_explain(&pmc_lib, event, mode, err, why) : kinds_copy(kinds, specs, why);
	*n = err ? 0 : (int)kinds->n;
	free(kinds);
	return err;
}

PMC_API_PUBLIC int pmc_event_kinds(const char *event, enum pmc_mode mode, char ***specs, int *n)
{
	return call_leave(event_kinds(event, mode, specs, n, call_enter()));
}

/* --- suggested sampling periods -------------------------------------------------------------- */

#define RATE_UNKNOWN 65536u

PMC_API_PUBLIC uint64_t pmc_pmu_sample_rate_get(const char *event)
{
	struct wire_allocate_req req = { .caps = 0 };
	const struct event_class *class;
	uint64_t period;

	if (!event || !pmc_lib.known ||
	    call_leave(resolve_event(&pmc_lib.machine, PMU_ROOT, event, &req, call_enter())) < 0)
		return RATE_UNKNOWN;
	class = class_of(req.class);
	period = class->period ? class->period(req.event_name) : 0;
	return period ? period : RATE_UNKNOWN;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Class PERF: PMUs that count for CPUs, as those of the uncore.  The daemon lists the PMUs, and
 * sysfs has the events and fields of each.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alias.h"
#include "class.h"
#include "intern.h"
#include "lib/base/generic.h"
#include "pmu_event.h"

/* A name that means an event of the CPUs' cores, whether there are counters for it or not. */
static bool name_is_core(const char *name)
{
	for (unsigned int i = 0; i < GENERIC_EVENTS; i++)
		if (evspec_same(name, generic_events[i].name) ||
		    (generic_events[i].second && evspec_same(name, generic_events[i].second)))
			return true;
	return alias_is_known(name);
}

/* The one PMU that has an event of that name.  -EINVAL: there are several. */
static int perf_find_named(const struct machine *m, const char *root, const char *name,
			   const struct machine_event **pmu, struct reason *why)
{
	*pmu = NULL;
	for (unsigned int i = 0; i < m->pmus.n; i++) {
		const struct machine_event *one = &m->pmus.event[i];
		struct pmu_event event = { .usr = false };

		if (pmu_sysfs_event(root, one->name, name, &event, &(struct reason){ "" }) ==
		    -ENOENT)
			continue;
		if (*pmu)
			return deny(why, -EINVAL, "%s is an event of several PMUs: write "
				    "%s/%s/, %s/%s/ or another", name, (*pmu)->name, name,
				    one->name, name);
		*pmu = one;
	}
	return *pmu ? 0 : -ENOENT;
}

static int perf_find(const struct machine *m, const char *root, const struct evspec *spec,
		     const struct machine_event **pmu, struct reason *why)
{
	int err;

	if (spec->raw) {
		*pmu = machine_pmu(m, spec->event);
		return *pmu ? 0 : -ENOENT;
	}
	if (spec->class < 0 && name_is_core(spec->event))
		return -ENOENT;
	err = perf_find_named(m, root, spec->event, pmu, why);
	if (err == -ENOENT && spec->class >= 0)
		deny(why, err, "no PMU that counts for CPUs has an event \"%s\"; \"pmccontrol -L\" "
		     "lists those that exist", spec->event);
	return err;
}

static int perf_resolve(const struct machine *m, const char *root,
			const struct wire_classinfo *info, const struct evspec *spec,
			struct wire_allocate_req *req, struct reason *why)
{
	struct wire_classinfo class = *info;
	const struct machine_event *pmu;
	struct pmu_event event;
	struct evspec raw = *spec;
	int err = perf_find(m, root, spec, &pmu, why);

	if (err)
		return err;
	if (spec->nquals)
		return class_qualifier_deny(&spec->quals[0], "a PMU that counts for CPUs",
					    "none, and its fields are terms, as in PMU/event=1/",
					    why);
	if (!spec->raw) {
		raw.raw = true;
		raw.nterms = 1;
		raw.terms[0] = (struct evspec_pair){ .key = spec->event };
	}
	snprintf(class.pmu, sizeof(class.pmu), "%.31s", pmu->name);
	err = pmu_event_find(root, &class, &raw, &event, why);
	if (err)
		return err;
	req->event = intern_event(event.name, NULL);
	if (!req->event)
		return -ENOMEM;
	req->caps = PMC_CAP_READ | PMC_CAP_WRITE;
	req->pmu = pmu->code;
	req->config = event.config[0];
	req->config1 = event.config[1];
	req->config2 = event.config[2];
	memcpy(req->event_name, event.name, sizeof(req->event_name));
	return 0;
}

/* PMU/TERM,.../: a term may be the name of an event with a unit. */
static void perf_unit(const char *root, const char *name, char *buf, size_t size)
{
	char text[WIRE_NAME_MAX], *rest = NULL, *pmu, *term;

	*buf = '\0';
	snprintf(text, sizeof(text), "%s", name);
	pmu = strtok_r(text, "/", &rest);
	while (pmu && !*buf && (term = strtok_r(NULL, ",/", &rest))) {
		struct pmu_event event = { .usr = false };

		if (!pmu_sysfs_event(root, pmu, term, &event, &(struct reason){ "" }))
			pmu_event_unit(root, pmu, event.name, buf, size);
	}
}

/* --- lists ----------------------------------------------------------------------------------- */

struct perf_list {
	event_fn *fn;
	void *arg;
	const char *root, *pmu, *cpus;
};

/* "event=0x01; each is 6.1e-5 MiB; CPU 0" */
static int perf_list_event(void *arg, const char *name, const char *text)
{
	const struct perf_list *l = arg;
	char full[2 * WIRE_NAME_MAX], unit[80], desc[1024];

	pmu_event_unit(l->root, l->pmu, name, unit, sizeof(unit));
	snprintf(full, sizeof(full), "%s/%s/", l->pmu, name);
	snprintf(desc, sizeof(desc), "%s%s%s; CPU %s", text, *unit ? "; each is " : "", unit,
		 l->cpus);
	return l->fn(l->arg, &(struct event){ .name = full, .desc = desc, .terms = text,
					      .pmu = l->pmu });
}

static int perf_each(const struct machine *m, const char *root, const struct wire_classinfo *info,
		     event_fn *fn, void *arg)
{
	char cpus[256];
	int err = 0;

	for (unsigned int i = 0; i < m->pmus.n && err <= 0; i++) {
		const char *pmu = m->pmus.event[i].name;
		struct perf_list l = { fn, arg, root, pmu, cpus };

		pmu_cpus(root, pmu, cpus, sizeof(cpus));
		err = pmu_each(root, pmu, perf_list_event, &l);
	}
	return err > 0 ? err : 0;
}

static struct machine_events *perf_listed(struct machine *m)
{
	return &m->pmus;
}

const struct event_class class_perf = {
	.interned = true, .described = true, .bare_last = true,
	.resolve = perf_resolve, .unit = perf_unit, .each = perf_each, .listed = perf_listed,
};

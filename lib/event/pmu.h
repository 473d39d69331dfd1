/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of a hardware PMU: from a name or from terms to the configuration words of
 * perf_event_attr. `root` is where the kernel lists its PMUs; tests use a directory of their own.
 */
#ifndef PMCBPF_PMU_H
#define PMCBPF_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "evspec.h"
#include "lib/base/reason.h"

#define PMU_ROOT "/sys/bus/event_source/devices"

struct pmu_event {
	uint64_t config[3];
	bool usr, os;			/* qualifiers; neither: both rings */
	uint32_t caps;			/* PMC_CAP_* of other qualifiers */
	char name[WIRE_NAME_MAX];	/* as the table spells it */
};

/* A field of the configuration: value bits go to the mask's bits, lowest first. */
struct pmu_field {
	unsigned int word;		/* config, config1, config2 */
	uint64_t mask;
};

/* "config:0-7,32-35".  -EINVAL malformed, -EOPNOTSUPP a word that cannot be passed on. */
int pmu_field_parse(const char *text, struct pmu_field *field);
/* -ERANGE when the value has more bits than the field. */
int pmu_field_set(const struct pmu_field *field, uint64_t value, uint64_t config[3]);

/* The field a PMU has under this name.  -ENOENT none. */
int pmu_field_find(const char *root, const char *pmu, const char *name, struct pmu_field *field,
		   struct reason *why);

/* Applies one "term" or "term=value" of a raw specifier or of an event's file. */
int pmu_term(const char *root, const char *pmu, const struct evspec_pair *term, uint64_t config[3],
	     struct reason *why);

/* Event of the kernel's own list, matched after folding.  -ENOENT none. */
int pmu_sysfs_event(const char *root, const char *pmu, const char *name, struct pmu_event *event,
		    struct reason *why);

/* True if the kernel's lists have the name, as an event or as a field. */
bool pmu_lists(const char *root, const char *pmu, const char *name);

/*
 * Calls fn for every event name of the kernel's list, with its terms; stops when fn returns not 0.
 */
typedef int pmu_each_fn(void *arg, const char *name, const char *text);
int pmu_each(const char *root, const char *pmu, pmu_each_fn *fn, void *arg);

/* The event's scale and unit, "2.3e-10 Joules"; "": the PMU has none for it. */
void pmu_event_unit(const char *root, const char *pmu, const char *name, char *buf, size_t size);
/* The list of the CPUs on which the PMU counts, "" if it has none. */
void pmu_cpus(const char *root, const char *pmu, char *buf, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* From a parsed specifier to an event of one hardware PMU, qualifiers included. */
#ifndef PMCBPF_PMU_EVENT_H
#define PMCBPF_PMU_EVENT_H

#include "pmu.h"

/*
 * An event on the PMU of a class: a name of the kernel's or of libpfm4's, or raw terms.  -ENOENT:
 * there is no such event.
 */
int pmu_event_find(const char *root, const struct wire_classinfo *class, const struct evspec *spec,
		   struct pmu_event *event, struct reason *why);

#endif

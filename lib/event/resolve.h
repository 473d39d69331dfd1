/* SPDX-License-Identifier: BSD-2-Clause */
/* From the text of an event specifier to the fields of an allocation that describe the event. */
#ifndef PMCBPF_RESOLVE_H
#define PMCBPF_RESOLVE_H

#include "machine.h"

#include <sys/pmc.h>

/*
 * A hardware event as pmc_pmu_pmcallocate() gives it.  -ENOENT with the reason.
 */
int resolve_operation(const struct machine *m, const char *root, const char *spec,
		      struct pmc_op_pmcallocate *op, struct reason *why);

/*
 * Fills caps, class, event, config… and event_name of the request.  `root` lists the PMUs
 * (PMU_ROOT). -EINVAL with the reason.
 */
int resolve_event(const struct machine *m, const char *root, const char *spec,
		  struct wire_allocate_req *req, struct reason *why);

/*
 * The specifiers whose PMCs count an event of a process on each kind of the machine's CPUs; none if
 * one PMC counts it.  -EINVAL with the reason.
 */
struct event_kinds {
	unsigned int n;
	char spec[WIRE_CLASS_MAX][EVSPEC_MAX + 1];
};
int resolve_kinds(const struct machine *m, const char *root, const char *spec, enum pmc_mode mode,
		  struct event_kinds *kinds, struct reason *why);

#endif

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

#endif

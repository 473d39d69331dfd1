/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libpfm4's event tables of this CPU.  The library is opened at first use; without it only its
 * event names are missing, and the reason mentions that.
 */
#ifndef PMCBPF_PFM_H
#define PMCBPF_PFM_H

#include "pmu.h"

/* An event of libpfm4; the texts are libpfm4's own. */
struct pfm_event {
	const char *name;	/* EVENT or EVENT.UMASK */
	const char *desc;
	const char *umask_desc;	/* NULL without a unit mask */
};

/*
 * Encodes an event of the CPU's core PMU, the name matched after folding.  -ENOENT no such event,
 * -ENOSYS no libpfm4; `type` is the PMU's attr.type.
 */
int pfm_event(const char *name, uint32_t type, struct pmu_event *event, struct reason *why);

/* Calls fn for every event until it returns not 0.  0 also without libpfm4. */
typedef int pfm_each_fn(void *arg, const struct pfm_event *event);
int pfm_each(pfm_each_fn *fn, void *arg);

#endif

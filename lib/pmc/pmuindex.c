/* SPDX-License-Identifier: BSD-2-Clause */
/* pmc_pmu_*(3): numbers and names of hardware events, and the operation that allocates one. */
#include <errno.h>
#include <string.h>

#include "lib.h"

/* --- "pmc stat" ------------------------------------------------------------------------------ */

/* FreeBSD has Intel's names here; these are aliases, which every processor has. */
static const char *const stat_events[] = {
	"unhalted-cycles", "instructions", "branches", "branch-mispredicts", "LLC-REFERENCE",
	"LLC-MISSES",
};

PMC_API_PUBLIC int pmc_pmu_stat_mode(const char ***names)
{
	if (!names) {
		call_end(call_missing(call_begin(), "names"));
		return EFAULT;
	}
	if (!pmc_pmu_enabled())
		return EOPNOTSUPP;
	*names = (const char **)stat_events;
	return 0;
}

/* --- numbers --------------------------------------------------------------------------------- */

static int machine_check(const char *cpuid, struct reason *why)
{
	const char *ours = pmc_lib.machine.cpu.cpuid;

	if (!pmc_lib.known)
		return deny(why, -ENXIO, "pmc_init() has not been called, or has failed");
	if (cpuid && strncmp(cpuid, ours, sizeof(pmc_lib.machine.cpu.cpuid)) != 0)
		return deny(why, -EOPNOTSUPP, "the events of the processor %.60s are not known "
			    "here, on a %.60s; the records of a log have their names", cpuid,
			    ours);
	return 0;
}

static int pmuindex_find(const char *cpuid, const char *event, int *idx, struct reason *why)
{
	struct wire_allocate_req req = { .caps = 0 };
	int err;

	if (!event)
		return call_missing(why, "event");
	err = machine_check(cpuid, why);
	if (!err)
		err = resolve_event(&pmc_lib.machine, PMU_ROOT, event, &req, why);
	if (err == -EINVAL)
		return -ENOENT;
	if (err)
		return err;
	if (!intern_name(req.event))
		return deny(why, -ENOENT, "%.100s is not an event of the hardware counters",
			    event);
	*idx = (int)req.event;
	return 0;
}

PMC_API_PUBLIC int pmc_pmu_idx_get_by_event(const char *cpuid, const char *event)
{
	int idx = -1;

	return call_leave(pmuindex_find(cpuid, event, &idx, call_enter())) ? -1 : idx;
}

PMC_API_PUBLIC const char *pmc_pmu_event_get_by_idx(const char *cpuid, int idx)
{
	struct reason *why = call_begin();
	int err = machine_check(cpuid, why);
	const char *name = err ? NULL : intern_name((uint32_t)idx);

	if (!err && !name)
		err = deny(why, -ENOENT, "%d is not the number of a hardware event that this "
			   "process has met", idx);
	call_end(err);
	return name;
}

/* --- the operation that allocates an event -------------------------------------------------- */

static int operation_fill(const char *event, struct pmc_op_pmcallocate *op, struct reason *why)
{
	int err;

	if (!event || !op)
		return call_missing(why, event ? "op" : "event");
	err = machine_check(NULL, why);
	return err ? err : resolve_operation(&pmc_lib.machine, PMU_ROOT, event, op, why);
}

PMC_API_PUBLIC int pmc_pmu_pmcallocate(const char *event, struct pmc_op_pmcallocate *op)
{
	int saved = errno, err = operation_fill(event, op, call_enter());

	if (call_leave(err))
		errno = saved;
	return -err;
}

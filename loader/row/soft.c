/* SPDX-License-Identifier: BSD-2-Clause */
/* The SOFT events: one line each; the position is the code, so lines are only added at the end. */
#include <linux/perf_event.h>
#include <stddef.h>

#include "bpf/count/count_abi.h"
#include "lib/base/clock_rates.h"
#include "lib/base/wire.h"
#include "soft.h"

_Static_assert((int)ABI_Q_CPU_NS == (int)WIRE_Q_CPU_NS && (int)ABI_Q_MINFLT == (int)WIRE_Q_MINFLT &&
	       (int)ABI_Q_MAJFLT == (int)WIRE_Q_MAJFLT && (int)ABI_Q_FLT == (int)WIRE_Q_FLT &&
	       (int)ABI_Q_NVCSW == (int)WIRE_Q_NVCSW && (int)ABI_Q_NIVCSW == (int)WIRE_Q_NIVCSW &&
	       (int)ABI_Q_CSW == (int)WIRE_Q_CSW &&
	       (int)ABI_QUANTITIES == (int)WIRE_Q_COUNT, "one table of quantities");

#define TASK(q)	  .process = SOFT_TASK, .quantity = WIRE_Q_##q
#define PERF(e)	  .system = SOFT_PERF, .perf_config = PERF_COUNT_SW_##e
#define FAULT(e)  PERF(e), .address = true
#define HOOKED(h) .hook = ABI_HOOK_##h

const struct soft_event soft_events[] = {
	{ "CLOCK.HARD", 0x20000, CLOCK_HARD_HZ, SIDES_SAMPLED, TASK(CPU_NS), PERF(CPU_CLOCK) },
	{ "CLOCK.STAT", 0x20001, CLOCK_STAT_HZ, SIDES_SAMPLED, TASK(CPU_NS), PERF(CPU_CLOCK) },
	{ "CLOCK.PROF", 0x20002, CLOCK_PROF_HZ, SIDES_SAMPLED, TASK(CPU_NS), PERF(CPU_CLOCK) },
	{ "LOCK.FAILED", 0x20003, 0, SIDES_UNKNOWN, .process = SOFT_HOOK, .system = SOFT_HOOK,
	  HOOKED(LOCK) },
	{ "PAGE_FAULT.ALL", 0x20004, 0, SIDES_COUNTED, TASK(FLT), FAULT(PAGE_FAULTS) },
	{ "PAGE_FAULT.READ", 0x20005, 0, SIDES_UNKNOWN, .process = SOFT_HOOK, .system = SOFT_HOOK,
	  HOOKED(FAULT_READ) },
	{ "PAGE_FAULT.WRITE", 0x20006, 0, SIDES_UNKNOWN, .process = SOFT_HOOK, .system = SOFT_HOOK,
	  HOOKED(FAULT_WRITE) },
	{ "PAGE_FAULT.MINOR", 0x20007, 0, SIDES_COUNTED, TASK(MINFLT), FAULT(PAGE_FAULTS_MIN) },
	{ "PAGE_FAULT.MAJOR", 0x20008, 0, SIDES_COUNTED, TASK(MAJFLT), FAULT(PAGE_FAULTS_MAJ) },
	{ "CPU_CLOCK", 0x20009, 0, SIDES_SAMPLED, TASK(CPU_NS), PERF(CPU_CLOCK) },
	{ "TASK_CLOCK", 0x2000a, 0, SIDES_SAMPLED, TASK(CPU_NS), PERF(TASK_CLOCK) },
	{ "CONTEXT_SWITCHES", 0x2000b, 0, SIDE_KERNEL, TASK(CSW), PERF(CONTEXT_SWITCHES) },
	{ "CONTEXT_SWITCHES.VOLUNTARY", 0x2000c, 0, SIDE_KERNEL, TASK(NVCSW), .system = SOFT_HOOK,
	  HOOKED(VOLUNTARY) },
	{ "CONTEXT_SWITCHES.INVOLUNTARY", 0x2000d, 0, SIDE_KERNEL, TASK(NIVCSW),
	  .system = SOFT_HOOK, HOOKED(INVOLUNTARY) },
	{ "CPU_MIGRATIONS", 0x2000e, 0, SIDE_KERNEL, .process = SOFT_MIGRATION,
	  PERF(CPU_MIGRATIONS), HOOKED(MIGRATION) },
	{ "CGROUP_SWITCHES", 0x2000f, 0, SIDE_KERNEL, .process = SOFT_PERF,
	  PERF(CGROUP_SWITCHES) },
	{ "ALIGNMENT_FAULTS", 0x20010, 0, SIDES_COUNTED, .process = SOFT_PERF,
	  FAULT(ALIGNMENT_FAULTS) },
	{ "EMULATION_FAULTS", 0x20011, 0, SIDES_COUNTED, .process = SOFT_PERF,
	  FAULT(EMULATION_FAULTS) },
	{ "OFFCPU_TIME", 0x20012, 0, SIDE_KERNEL, .process = SOFT_OFFCPU, .system = SOFT_OFFCPU },
};
const unsigned int soft_nevents = sizeof(soft_events) / sizeof(soft_events[0]);

const struct soft_event *soft_by_code(uint32_t code)
{
	if (code < SOFT_CODE_FIRST || code - SOFT_CODE_FIRST >= soft_nevents)
		return NULL;
	return &soft_events[code - SOFT_CODE_FIRST];
}

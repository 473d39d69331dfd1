/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of perf's own events; the position is the number: lines are only added at the end. */
#include <linux/perf_event.h>
#include <stddef.h>

#include <sys/pmc.h>

#include "generic.h"

#define HARDWARE(e, name, second, desc) \
	{ name, second, desc, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##e }
#define CACHE_EVENT(id, op, result, name, desc)						\
	{ name, NULL, desc, PERF_TYPE_HW_CACHE,						\
	  PERF_COUNT_HW_CACHE_##id | PERF_COUNT_HW_CACHE_OP_##op << 8 |			\
	  PERF_COUNT_HW_CACHE_RESULT_##result << 16 }

/* The six events of a cache: three operations, all of them and those that miss. */
#define CACHE(id, name, text)								\
	CACHE_EVENT(id, READ, ACCESS, name "-loads", text ": reads"),			\
	CACHE_EVENT(id, READ, MISS, name "-load-misses", text ": reads that miss"),	\
	CACHE_EVENT(id, WRITE, ACCESS, name "-stores", text ": writes"),		\
	CACHE_EVENT(id, WRITE, MISS, name "-store-misses", text ": writes that miss"),	\
	CACHE_EVENT(id, PREFETCH, ACCESS, name "-prefetches", text ": prefetches"),	\
	CACHE_EVENT(id, PREFETCH, MISS, name "-prefetch-misses", text ": prefetches that miss")

#define CACHE_FIRST 10u		/* position of L1-dcache-loads */

const struct generic_event generic_events[GENERIC_EVENTS] = {
	HARDWARE(CPU_CYCLES, "cpu-cycles", "cycles", "cycles of the core while it runs"),
	HARDWARE(INSTRUCTIONS, "instructions", NULL, "retired instructions"),
	HARDWARE(CACHE_REFERENCES, "cache-references", NULL, "accesses to the last level cache"),
	HARDWARE(CACHE_MISSES, "cache-misses", NULL, "misses of the last level cache"),
	HARDWARE(BRANCH_INSTRUCTIONS, "branch-instructions", "branches", "retired branches"),
	HARDWARE(BRANCH_MISSES, "branch-misses", NULL, "mispredicted branches"),
	HARDWARE(BUS_CYCLES, "bus-cycles", NULL, "cycles of the bus"),
	HARDWARE(STALLED_CYCLES_FRONTEND, "stalled-cycles-frontend", "idle-cycles-frontend",
		 "cycles without an instruction to issue"),
	HARDWARE(STALLED_CYCLES_BACKEND, "stalled-cycles-backend", "idle-cycles-backend",
		 "cycles in which no instruction could be issued"),
	HARDWARE(REF_CPU_CYCLES, "ref-cycles", NULL,
		 "cycles of a clock that does not change with the core's frequency"),
	CACHE(L1D, "L1-dcache", "level 1 data cache"),
	CACHE(L1I, "L1-icache", "level 1 instruction cache"),
	CACHE(LL, "LLC", "last level cache"),
	CACHE(DTLB, "dTLB", "data TLB"),
	CACHE(ITLB, "iTLB", "instruction TLB"),
	CACHE(BPU, "branch", "branch prediction unit"),
	CACHE(NODE, "node", "memory of the node"),
};

const struct generic_event *generic_by_code(uint32_t code)
{
	if (code < PMC_EV_PERF_FIRST || code - PMC_EV_PERF_FIRST >= GENERIC_EVENTS)
		return NULL;
	return &generic_events[code - PMC_EV_PERF_FIRST];
}

uint32_t generic_cache_code(unsigned int cache, unsigned int op, unsigned int result)
{
	return PMC_EV_PERF_FIRST + CACHE_FIRST + 6 * cache + 2 * op + result;
}

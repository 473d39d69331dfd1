/* SPDX-License-Identifier: BSD-2-Clause */
/* The instructions that read counters from user space, per architecture. */
#ifndef PMCBPF_COUNTER_H
#define PMCBPF_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)

static inline bool counter_tsc(uint64_t *value)
{
	uint32_t low, high;

	__asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
	*value = (uint64_t)high << 32 | low;
	return true;
}

/* `index` as in perf's mapped page, minus 1. */
static inline bool counter_pmc(uint32_t index, uint64_t *value)
{
	uint32_t low, high;

	__asm__ __volatile__("rdpmc" : "=a"(low), "=d"(high) : "c"(index));
	*value = (uint64_t)high << 32 | low;
	return true;
}

static inline void counter_relax(void)
{
	__asm__ __volatile__("pause");
}

#elif defined(__aarch64__)

static inline bool counter_tsc(uint64_t *value)
{
	return false;
}

#define COUNTER_REG(n)									\
	case n:										\
		__asm__ __volatile__("mrs %0, pmevcntr" #n "_el0" : "=r"(v));		\
		break;

/* The number of a register is part of the instruction: hence one case for each. */
static inline bool counter_pmc(uint32_t index, uint64_t *value)
{
	uint64_t v;

	/* Instructions before the call are counted, those after it are not. */
	__asm__ __volatile__("isb" ::: "memory");
	switch (index) {
	COUNTER_REG(0) COUNTER_REG(1) COUNTER_REG(2) COUNTER_REG(3) COUNTER_REG(4) COUNTER_REG(5)
	COUNTER_REG(6) COUNTER_REG(7) COUNTER_REG(8) COUNTER_REG(9) COUNTER_REG(10)
	COUNTER_REG(11) COUNTER_REG(12) COUNTER_REG(13) COUNTER_REG(14) COUNTER_REG(15)
	COUNTER_REG(16) COUNTER_REG(17) COUNTER_REG(18) COUNTER_REG(19) COUNTER_REG(20)
	COUNTER_REG(21) COUNTER_REG(22) COUNTER_REG(23) COUNTER_REG(24) COUNTER_REG(25)
	COUNTER_REG(26) COUNTER_REG(27) COUNTER_REG(28) COUNTER_REG(29) COUNTER_REG(30)
	case 31:
		__asm__ __volatile__("mrs %0, pmccntr_el0" : "=r"(v));
		break;
	default:
		return false;
	}
	*value = v;
	return true;
}
#undef COUNTER_REG

static inline void counter_relax(void)
{
	__asm__ __volatile__("yield");
}

#else

static inline bool counter_tsc(uint64_t *value)
{
	return false;
}

static inline bool counter_pmc(uint32_t index, uint64_t *value)
{
	return false;
}

static inline void counter_relax(void)
{
	__asm__ __volatile__("" ::: "memory");
}

#endif
#endif

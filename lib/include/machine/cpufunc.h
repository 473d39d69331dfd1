/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading counters by instruction.  rdtsc() returns the time stamp counter (x86) or the virtual
 * counter (64-bit ARM), 64 bits.  rdpmc(n) returns the hardware counter that pmc_get_msr(3) has
 * named; a program that breaks the rules of that page gets a signal, as on FreeBSD.
 *
 * <machine/pctr.h> has another rdpmc().  A source that includes both, in either order, gets that
 * one, and this one as (rdpmc)(n).
 */
#ifndef PMCBPF_MACHINE_CPUFUNC_H
#define PMCBPF_MACHINE_CPUFUNC_H

#include <stdint.h>

#define PMC_CPUFUNC static __inline __attribute__((__always_inline__, __unused__))

#if defined(__x86_64__)

PMC_CPUFUNC uint64_t rdtsc(void)
{
	uint32_t low, high;

	__asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

PMC_CPUFUNC uint64_t rdpmc(uint32_t n)
{
	uint32_t low, high;

	__asm__ __volatile__("rdpmc" : "=a"(low), "=d"(high) : "c"(n));
	return (uint64_t)high << 32 | low;
}

#elif defined(__aarch64__)

PMC_CPUFUNC uint64_t rdtsc(void)
{
	uint64_t value;

	__asm__ __volatile__("isb\n\tmrs %0, cntvct_el0" : "=r"(value) : : "memory");
	return value;
}

/*
 * The number of a register is part of the instruction, hence one case for each.  31 is the cycle
 * counter.  The CPU may read it earlier, before instructions that precede the call.  n is below 32.
 */
PMC_CPUFUNC uint64_t rdpmc_unordered(uint32_t n)
{
	uint64_t value;

	switch (n & 31) {
#define PMC_COUNTER(n)									\
	case n:										\
		__asm__ __volatile__("mrs %0, pmevcntr" #n "_el0" : "=r"(value));	\
		return value;
	PMC_COUNTER(0) PMC_COUNTER(1) PMC_COUNTER(2) PMC_COUNTER(3) PMC_COUNTER(4)
	PMC_COUNTER(5) PMC_COUNTER(6) PMC_COUNTER(7) PMC_COUNTER(8) PMC_COUNTER(9)
	PMC_COUNTER(10) PMC_COUNTER(11) PMC_COUNTER(12) PMC_COUNTER(13) PMC_COUNTER(14)
	PMC_COUNTER(15) PMC_COUNTER(16) PMC_COUNTER(17) PMC_COUNTER(18) PMC_COUNTER(19)
	PMC_COUNTER(20) PMC_COUNTER(21) PMC_COUNTER(22) PMC_COUNTER(23) PMC_COUNTER(24)
	PMC_COUNTER(25) PMC_COUNTER(26) PMC_COUNTER(27) PMC_COUNTER(28) PMC_COUNTER(29)
	PMC_COUNTER(30)
#undef PMC_COUNTER
	case 31:
		__asm__ __volatile__("mrs %0, pmccntr_el0" : "=r"(value));
		return value;
	default:
		__builtin_unreachable();
	}
}

/* Instructions before the call are counted, those after it are not. */
PMC_CPUFUNC uint64_t rdpmc(uint32_t n)
{
	if (n > 31)
		__builtin_trap();
	__asm__ __volatile__("isb" : : : "memory");
	return rdpmc_unordered(n);
}

#endif

#undef PMC_CPUFUNC

/* The same as a function, so that a program can take its address. */
#if defined(__x86_64__) || defined(__aarch64__)
#define rdpmc(n) rdpmc(n)
#endif

#endif

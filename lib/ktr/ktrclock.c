/* SPDX-License-Identifier: BSD-2-Clause */
/* The clocks of entries: the processor's counter, or the kernel's time as of its last tick. */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "ktr.h"
#ifdef KTR_X86
#include <cpuid.h>
#endif

uint32_t ktr_clock_choose(bool coarse)
{
	int state = PR_TSC_ENABLE;

	if (coarse)
		return KTR_CLOCK_COARSE;
	if (!prctl(PR_GET_TSC, &state, 0, 0, 0) && state == PR_TSC_SIGSEGV)
		return 0;
#if defined(KTR_X86)
	return KTR_CLOCK_TSC;
#elif defined(KTR_ARM)
	return KTR_CLOCK_CNTVCT;
#else
	return KTR_CLOCK_COARSE;
#endif
}

uint64_t ktr_clock_read(uint32_t clock)
{
	struct timespec now;

#if defined(KTR_X86)
	if (clock == KTR_CLOCK_TSC)
		return __builtin_ia32_rdtsc();
#elif defined(KTR_ARM)
	if (clock == KTR_CLOCK_CNTVCT) {
		uint64_t count;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r" (count));
		return count;
	}
#endif
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec << 32 | (uint64_t)now.tv_nsec / 1000;
}

/* The exact frequency: the crystal's times a ratio; 0 if the processor does not report it. */
uint64_t ktr_clock_frequency(uint32_t clock)
{
#if defined(KTR_X86)
	unsigned int denominator, numerator, crystal, reserved;

	if (clock == KTR_CLOCK_TSC &&
	    __get_cpuid_count(0x15, 0, &denominator, &numerator, &crystal, &reserved) &&
	    denominator && numerator && crystal)
		return (uint64_t)crystal * numerator / denominator;
#elif defined(KTR_ARM)
	uint64_t frequency;

	if (clock == KTR_CLOCK_CNTVCT) {
		__asm__("mrs %0, cntfrq_el0" : "=r" (frequency));
		return frequency;
	}
#endif
	return 0;
}

/* If the process may not read the counter, the C library must not either. */
static uint64_t nanoseconds(clockid_t clock, uint32_t ours)
{
	struct timespec now = { 0 };

	if (ours == KTR_CLOCK_COARSE)
		syscall(SYS_clock_gettime, clock, &now);
	else
		clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Takes the best of a few stamps: the one with the least time between two clock readings. */
void ktr_stamp_take(uint32_t clock, struct ktr_stamp *stamp)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = ktr_clock_read(clock);
		uint64_t monotonic = nanoseconds(CLOCK_MONOTONIC, clock);
		uint64_t took = ktr_clock_read(clock) - before;

		if (took >= least)
			continue;
		least = took;
		stamp->clock = before + took / 2;
		stamp->monotonic = monotonic;
		stamp->realtime = nanoseconds(CLOCK_REALTIME, clock);
	}
}

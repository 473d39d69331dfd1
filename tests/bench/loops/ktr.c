/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a program's trace points, enabled and disabled, compared with an empty loop and a
 * bare clock.
 */
#define KTR
#include <sys/ktr.h>

#include "loop.h"

/* Not a memory barrier: it keeps the round, and adds nothing to it. */
#define ROUND(i) __asm__ volatile("" : "+r"(i))

static void empty(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		ROUND(i);
}

/* The source of KTR's time stamps. */
static void counter(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++) {
#ifdef __x86_64__
		uint64_t now = loop_clock();
#elif defined(__aarch64__)
		uint64_t now;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
#else
		uint64_t now = loop_clock();
#endif
		__asm__ volatile("" : : "r"(now));
	}
}

static void masked(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		CTR5(KTR_CLK, "masked %lu %lu %lu %lu %lu", i, i, i, i, i);
}

static void ctr0(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		CTR0(KTR_DEV, "nothing");
}

static void ctr2(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		CTR2(KTR_DEV, "two %d %d", (int)i, (int)rounds);
}

static void ctr5(unsigned long rounds)
{
	for (unsigned long i = 0; i < rounds; i++)
		CTR5(KTR_DEV, "five %lu %lu %lu %lu %lu", i, rounds, i, rounds, i);
}

int main(void)
{
	static const struct loop loops[] = {
		{ 'e', empty }, { 'c', counter }, { 'm', masked }, { '0', ctr0 }, { '2', ctr2 },
		{ '5', ctr5 },
	};

	if (!ktr_mask) {
		fputs("libktr traces nothing here\n", stderr);
		return 1;
	}
	ktr_mask = KTR_DEV;
	return loop_serve(loops, sizeof(loops) / sizeof(loops[0]));
}

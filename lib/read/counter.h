/* SPDX-License-Identifier: BSD-2-Clause */
/* The instructions that read counters, for each architecture. */
#ifndef PMCBPF_COUNTER_H
#define PMCBPF_COUNTER_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <ucontext.h>

#include <machine/cpufunc.h>

/*
 * The usual path of pmc_read() is inlined: every instruction counts.  So are the instructions that
 * read counters, without fail: the handler of trap.c finds them in its section only.
 */
#define QUICK static inline __attribute__((always_inline))

#if !defined(__aarch64__)

/* A cheap clock, exact to a few milliseconds, and the conversion of a time to its ticks. */
static inline uint64_t counter_clock(void)
{
	struct timespec ts = { .tv_sec = 0 };

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static inline uint64_t counter_ticks(uint64_t ns)
{
	return ns;
}

#endif

#if defined(__x86_64__)

#define COUNTER_SIGNAL SIGSEGV		/* a forbidden instruction raises it */

static inline bool counter_tsc(uint64_t *value)
{
	*value = rdtsc();
	return true;
}

QUICK bool counter_valid(uint32_t index)
{
	return true;
}

/* `index` as in perf's mapped page, minus 1; a valid one. */
QUICK uint64_t counter_pmc(uint32_t index)
{
	return rdpmc(index);
}

/* Before the first of several counter_pmc(): instructions until here are counted. */
QUICK void counter_begin(void)
{
}

static inline uintptr_t counter_pc(const ucontext_t *uc)
{
	return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

/* Goes on after an instruction of counter_pmc(); false if it is none. */
static inline bool counter_skip(ucontext_t *uc)
{
	const uint8_t *code = (const uint8_t *)counter_pc(uc);

	if (code[0] != 0x0f || code[1] != 0x33)
		return false;
	uc->uc_mcontext.gregs[REG_RIP] += 2;
	return true;
}

static inline void counter_relax(void)
{
	__asm__ __volatile__("pause");
}

#elif defined(__aarch64__)

#define COUNTER_SIGNAL SIGILL

/* There is no class TSC here. */
static inline bool counter_tsc(uint64_t *value)
{
	return false;
}

QUICK bool counter_valid(uint32_t index)
{
	return index <= 31;
}

QUICK uint64_t counter_pmc(uint32_t index)
{
	return rdpmc_unordered(index);
}

QUICK void counter_begin(void)
{
	__asm__ __volatile__("isb" : : : "memory");
}

/* The counter itself: CLOCK_MONOTONIC_COARSE would cost a call into the vDSO. */
static inline uint64_t counter_clock(void)
{
	uint64_t ticks;

	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
}

static inline uint64_t counter_ticks(uint64_t ns)
{
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz / 1000 * ns / 1000000;
}

static inline uintptr_t counter_pc(const ucontext_t *uc)
{
	return uc->uc_mcontext.pc;
}

/* No other instruction of counter_pmc() is illegal. */
static inline bool counter_skip(ucontext_t *uc)
{
	uc->uc_mcontext.pc += 4;
	return true;
}

static inline void counter_relax(void)
{
	__asm__ __volatile__("yield");
}

#else

#define COUNTER_SIGNAL SIGILL

static inline bool counter_tsc(uint64_t *value)
{
	return false;
}

QUICK bool counter_valid(uint32_t index)
{
	return false;
}

QUICK uint64_t counter_pmc(uint32_t index)
{
	return 0;
}

QUICK void counter_begin(void)
{
}

static inline uintptr_t counter_pc(const ucontext_t *uc)
{
	return 0;
}

static inline bool counter_skip(ucontext_t *uc)
{
	return false;
}

static inline void counter_relax(void)
{
	__asm__ __volatile__("" ::: "memory");
}

#endif
#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Function words: the value of the CPU's event selector, translated to an event of pmc(3). */
#ifndef PMCBPF_PCTR_FUNCTION_H
#define PMCBPF_PCTR_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vendor {
	VENDOR_NONE,		/* no counters that pctr(4) knows of: the TSC only */
	VENDOR_INTEL,
	VENDOR_AMD,
	VENDOR_ARM		/* the event is bits 0 to 15; neither edge nor threshold */
};

#define FUNCTION_RESERVED 0x380000u	/* pin control, interrupt, any thread */
#define FUNCTION_SPEC_MAX 128u

/* 0, or -EINVAL: bits that no function of this vendor has. */
int function_check(enum vendor vendor, uint32_t fn);

/* Enabled, and in user mode or in the kernel at least: otherwise there is nothing to count. */
bool function_counts(uint32_t fn);

/*
 * The specifier for pmc_allocate(3) of a function that counts: an event of the hardware's `pmu`, or
 * without one (NULL) the software event that stands in for it.
 */
void function_spec(enum vendor vendor, uint32_t fn, const char *pmu, char *spec, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine's CPU, in hwpmc's terms. */
#ifndef PMCBPF_CPU_H
#define PMCBPF_CPU_H

#include <stdbool.h>
#include <stdint.h>

struct cpu {
	uint32_t type;		/* enum pmc_cputype, even if its counters are not available */
	bool tsc;
	bool aperf;		/* APERF and MPERF, x86 */
	char id[64];		/* GenuineIntel-6-55-7, or the MIDR of arm64 */
};

void cpu_identify(struct cpu *cpu);

/* enum pmc_cputype of an Intel family and model. */
uint32_t cpu_intel_type(unsigned int family, unsigned int model);

#endif

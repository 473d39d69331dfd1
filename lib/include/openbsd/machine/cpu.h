/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of sysctl(2) for a CPU, below CTL_MACHDEP. */
#ifndef PMCBPF_OPENBSD_CPU_H
#define PMCBPF_OPENBSD_CPU_H

#define CPU_CPUVENDOR  6	/* text: "GenuineIntel", "AuthenticAMD", "ARM" */
#define CPU_CPUID      7	/* int: family, model and stepping as CPUID has them; 0 on ARM */
#define CPU_CPUFEATURE 8	/* int: bits of <machine/specialreg.h> */

#endif

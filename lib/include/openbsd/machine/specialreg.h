/* SPDX-License-Identifier: BSD-2-Clause */
/* Bits of CPU_CPUFEATURE: the first feature word of CPUID. */
#ifndef PMCBPF_OPENBSD_SPECIALREG_H
#define PMCBPF_OPENBSD_SPECIALREG_H

#define CPUID_FPU 0x00000001
#define CPUID_TSC 0x00000010	/* has a time stamp counter */
#define CPUID_MSR 0x00000020
#define CPUID_MMX 0x00800000
#define CPUID_SSE 0x02000000
#define CPUID_SSE2 0x04000000

#endif

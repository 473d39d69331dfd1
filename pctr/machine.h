/* SPDX-License-Identifier: BSD-2-Clause */
/* The machine: vendor, CPUs, PMUs, and the CPU of a thread. */
#ifndef PMCBPF_PCTR_MACHINE_H
#define PMCBPF_PCTR_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "function.h"

enum vendor machine_vendor(void);

/* The time stamp counter of x86, the virtual counter of ARM: it is the same on all CPUs. */
uint64_t machine_tsc(void);

/* The highest possible CPU number + 1; -errno. */
int machine_ncpu(void);

/* The name of the counters of this CPU; -ENXIO: it is offline, or has none that pctr(4) knows. */
int machine_pmu(unsigned int cpu, char *name, size_t size);

/* The CPU that a thread ran on last; if it sleeps in a request, it made that there.  -ESRCH. */
int machine_cpu_of(pid_t tid);

#endif

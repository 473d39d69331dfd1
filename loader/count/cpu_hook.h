/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters that programs on tracepoints keep, one for each hook and CPU. */
#ifndef PMCBPF_CPU_HOOK_H
#define PMCBPF_CPU_HOOK_H

#include "count_state.h"

/* Attaches the program that keeps the counter. */
int cpu_hook_hold(struct count *c, struct reason *why);

#endif

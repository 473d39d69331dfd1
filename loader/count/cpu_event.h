/* SPDX-License-Identifier: BSD-2-Clause */
/* The perf event of a system-scope PMC, and what all system-scope backends share. */
#ifndef PMCBPF_CPU_EVENT_H
#define PMCBPF_CPU_EVENT_H

#include "backend.h"

/* Opens the event on its CPU; one that samples is not enabled. */
int cpu_event_new(struct count *c, struct reason *why);
void cpu_event_close(struct count *c);

/* The page of a system-scope PMC. */
void cpu_event_fill(struct count *c, struct wire_page_pmc *p);

#endif

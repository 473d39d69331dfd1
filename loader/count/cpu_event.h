/* SPDX-License-Identifier: BSD-2-Clause */
/* The perf event of a system-scope PMC, and the functions shared by all system-scope backends. */
#ifndef PMCBPF_CPU_EVENT_H
#define PMCBPF_CPU_EVENT_H

#include "backend.h"

/* Opens the event on its CPU; enables it unless it samples. */
int cpu_event_new(struct count *c, struct reason *why);
void cpu_event_close(struct count *c);
/* From now on the PMC has the event of `lender`, which is freed after it; false: its own. */
bool cpu_event_borrow(struct count *c, struct count *lender);

/* For a backend whose owner reads one descriptor, c->fd, while how() is WIRE_HOW_EVENTS. */
unsigned int cpu_event_fds(const struct count *c, int *fds, unsigned int max);

/* Fills in the page entry of a system-scope PMC. */
void cpu_event_fill(struct count *c, struct wire_page_pmc *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Per-task events, which the kernel switches with their task. */
#ifndef PMCBPF_TASK_EVENTS_H
#define PMCBPF_TASK_EVENTS_H

#include "count_state.h"

int task_events_attach(struct count *c, pid_t tgid, struct reason *why);
/* Opens events that count on one CPU only, for every target; they count at once if the PMC runs. */
int task_events_attach_cpu(struct count *c, unsigned int cpu);
/* Opens the watches of every target, once each CPU has its events. */
int task_events_watch(struct count *c);
/* The maximum number of descriptors that these two calls need. */
int task_events_expect(const struct count *c, unsigned int *n);
void task_events_close(struct count *c);
/* Opens all events anew with the current spec, while the PMC is stopped. */
int task_events_renew(struct count *c, struct reason *why);

#endif

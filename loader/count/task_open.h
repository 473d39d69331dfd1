/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens per-task events, which the user is charged for. */
#ifndef PMCBPF_TASK_OPEN_H
#define PMCBPF_TASK_OPEN_H

#include "count_state.h"

#define TASK_ANY_CPU (-1)	/* task_event.cpu of an event that is bound to none */

/* The events of a process's threads, or of the PMC's only thread; all or none. */
int task_open_process(struct count *c, pid_t tgid, struct reason *why);
/* Opens the event of one more thread, on one CPU or on any. */
int task_open_one(struct count *c, pid_t tgid, pid_t tid, int cpu, struct reason *why);
/*
 * Opens events that count on one CPU only, disabled if c->deferred: for every target that waits for
 * its exec, or for all others.
 */
int task_open_cpu(struct count *c, unsigned int cpu, bool waiting);
/* Opens the watches of every target, once each CPU has its events. */
int task_open_watches(struct count *c);
/* The maximum number of descriptors that these two calls need. */
int task_open_expect(const struct count *c, unsigned int *n);
/* True if the events of the process are bound to CPUs. */
bool task_open_bound(const struct count *c, pid_t tgid);
/* True if the events are bound to CPUs, and not to this one. */
bool task_open_lacks_cpu(const struct count *c, unsigned int cpu);
/* Charges the user for one descriptor. */
int task_open_pay(const struct count *c, struct reason *why);
/* Gives back what the user was charged for so many descriptors. */
void task_open_repay(const struct count *c, unsigned int n);

#endif

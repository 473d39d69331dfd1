/* SPDX-License-Identifier: BSD-2-Clause */
/* Per-task events, which the kernel switches with their task. */
#ifndef PMCBPF_TASK_EVENTS_H
#define PMCBPF_TASK_EVENTS_H

#include "task_open.h"

/* Closes a process's events; their count stays in the PMC. */
void task_events_detach(struct count *c, pid_t tgid);
/* The same for the event that was opened for a thread, which keeps what it has inherited. */
void task_events_drop_one(struct count *c, pid_t tid, int cpu);
/* Opens the process's events anew; their count stays in the PMC. */
int task_events_reopen(struct count *c, pid_t tgid, struct reason *why);
/* Enables the process's events, and all that threads have inherited. */
int task_events_enable(struct count *c, pid_t tgid);
/* Those of all processes that are bound to a CPU; not of one that waits for its exec. */
int task_events_enable_cpu(struct count *c, unsigned int cpu);
/* Closes those that are bound to a CPU, without adding their counts to the PMC's. */
void task_events_drop_cpu(struct count *c, unsigned int cpu);
void task_events_close(struct count *c);
/* Closes the last of the list; it is not counted any more. */
void task_events_close_last(struct count *c);
/* Opens all events anew with the current spec, while the PMC is stopped. */
int task_events_renew(struct count *c, struct reason *why);

#endif

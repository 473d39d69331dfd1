/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes sure that each thread of the targets has a PMC's per-task events exactly once, and that
 * they count.  The kernel lets a thread inherit the events of the thread that creates it, and
 * that goes wrong for threads that are created at the same time: one has no event, because its
 * creator had none when the fork began; one that inherits an event is found in the list as well,
 * and gets a second one; one inherits a disabled event at the moment at which the others are
 * enabled.
 */
#ifndef PMCBPF_TASK_COVER_H
#define PMCBPF_TASK_COVER_H

#include "count_state.h"

/* Before the events are enabled.  -EAGAIN: the targets create threads faster than that. */
int task_cover_prepare(struct count *c, struct reason *why);
/*
 * Where nothing can be opened anew, before or, if `counts`, after they are enabled.  -EAGAIN: some
 * thread lacks its event, or has two.
 */
int task_cover_check(struct count *c, bool counts);
/* Once they are enabled: nothing may be opened anew, because it counts already. */
int task_cover_started(struct count *c, struct reason *why);
/* The events of one CPU only, on which it runs alone; it waits for milliseconds only. */
int task_cover_started_on(struct count *c, unsigned int cpu, struct reason *why);

#endif

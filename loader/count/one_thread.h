/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs of single threads that programs count or sample: the thread, which the programs know. */
#ifndef PMCBPF_ONE_THREAD_H
#define PMCBPF_ONE_THREAD_H

#include "count_state.h"

/* Such a PMC has no thread yet; any other PMC has all threads.  -EAGAIN: its user has too many. */
int one_thread_begin(const struct count *c, struct reason *why);
void one_thread_end(const struct count *c);

/* As of struct backend: c->tid of that process is its thread, or no longer. */
int one_thread_attach(struct count *c, pid_t tgid, struct reason *why);
void one_thread_detach(struct count *c, pid_t tgid);

#endif

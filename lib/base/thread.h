/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PMCBPF_THREAD_H
#define PMCBPF_THREAD_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Has the calling process no other thread?  Threads that the C library has not created count as
 * well: those of clone(2), and io_uring's.
 */
bool thread_alone(void);

/* The process of the thread, in this process's PID namespace; 0: there is no such thread. */
pid_t thread_process(pid_t tid);

#endif

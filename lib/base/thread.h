/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PMCBPF_THREAD_H
#define PMCBPF_THREAD_H

#include <sys/types.h>

/* The process of the thread, in this process's PID namespace; 0: there is no such thread. */
pid_t thread_process(pid_t tid);

#endif

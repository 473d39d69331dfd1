/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads beside the event loop, which takes the signals. */
#ifndef PMCBPF_WORKER_H
#define PMCBPF_WORKER_H

#include <pthread.h>

/*
 * Starts a thread that takes no signal but `signal`; 0: none at all.  0 or -errno.  Each caller is
 * in DESIGN.md's table of threads.
 */
int worker_start(pthread_t *thread, void *(*run)(void *arg), void *arg, int signal);

#endif

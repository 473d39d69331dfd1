/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of threads.  The kernel reports each change of a name; a new thread has its creator's name.
 * If the creator's name has not been reported, /proc is read.
 */
#ifndef PMCBPF_THREADS_H
#define PMCBPF_THREADS_H

#include <sys/queue.h>
#include <sys/types.h>

#include "process_events.h"

#define THREAD_BUCKETS 1024u

struct threads {
	LIST_HEAD(, thread) bucket[THREAD_BUCKETS];
	/* Reads the name of a thread; false: it is gone.  /proc, but for tests. */
	bool (*ask)(pid_t pid, pid_t tid, char comm[PROC_COMM]);
};

void threads_init(struct threads *t);
void threads_clear(struct threads *t);

/*
 * The name of an existing thread, unless the kernel has reported one since.  `asked`: it was read
 * later, and may be of another program.
 */
void threads_know(struct threads *t, pid_t tid, const char *comm, bool asked);

/* The next event, in the order of time.  The birth of a thread gets its name, if it is known. */
void threads_event(struct threads *t, struct proc_event *e);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors in the event loop. */
#ifndef PMCBPF_PCTR_WATCH_H
#define PMCBPF_PCTR_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct watch {
	int fd;					/* -1: it has ended, maybe in this turn */
	void (*ready)(struct watch *w);
};

/* Calls w->ready() whenever data can be read.  0 or -errno. */
int watch_add(int epoll, struct watch *w);
/* Polls for reading, or for the end of the connection only. */
void watch_reading(int epoll, struct watch *w, bool reading);

#endif

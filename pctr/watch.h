/* SPDX-License-Identifier: BSD-2-Clause */
/* What the event loop waits for. */
#ifndef PMCBPF_PCTR_WATCH_H
#define PMCBPF_PCTR_WATCH_H

#include <stdint.h>

struct watch {
	int fd;
	void (*ready)(struct watch *w);		/* may end `w` itself, and nobody else */
};

/* Calls w->ready() whenever there is something to read.  0 or -errno. */
int watch_add(int epoll, struct watch *w);

#endif

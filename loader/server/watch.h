/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors in the epoll set of the event loop. */
#ifndef PMCBPF_WATCH_H
#define PMCBPF_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct server;

struct watch {
	int fd;				/* -1: closed in this turn of the loop, or never open */
	void (*ready)(struct server *s, struct watch *w, uint32_t events);
	bool end;			/* ready means: a process has exited */
	unsigned int kind;		/* of its work, enum watchdog_kind */
};

int watch_add(int epoll, struct watch *w, uint32_t events);
void watch_change(int epoll, struct watch *w, uint32_t events);
/* Removes the descriptor from the set and leaves it open. */
void watch_remove(int epoll, struct watch *w);
void watch_drop(int epoll, struct watch *w);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Perf events by their mapped pages, and by the kernel; private to this room. */
#ifndef PMCBPF_EVENT_PAGE_H
#define PMCBPF_EVENT_PAGE_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include "counter.h"
#include "lib/base/reason.h"
#include "read_table.h"
#include "trap.h"

/* One whole load; the atomic built-in would compute the address anew each time. */
#define load(p)		(*(const volatile __typeof__(*(p)) *)(p))
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)

/*
 * Reads the event, never a file that has taken its number: a read would take the program's bytes.
 * Not read(2): the C library would let the thread be cancelled there.
 */
ssize_t event_page_ask(const struct read_event *e, uint64_t *data, size_t size);
/* The error of an event that has lost its counter: the kernel's answer is empty. */
int event_page_lost(struct reason *why);
/* After the kernel has found no event lost: may the next reads use the registers? */
bool event_page_ready(const struct read_table *t, const struct read_event *events, unsigned int n);

#endif

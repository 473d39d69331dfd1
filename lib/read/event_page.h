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

/* State of an event according to its page, as its own thread sees it. */
enum page_state {
	PAGE_SILENT,		/* nothing: ask the kernel */
	PAGE_MOVED,		/* it was changed meanwhile */
	PAGE_SAVED,		/* not counting now; the page has the whole count */
	PAGE_COUNTING,		/* the register, put right by the page */
};

/* Without `counter` it is the instruction itself: in functions of TRAP_SECTION. */
QUICK enum page_state event_page(const struct perf_event_mmap_page *page, read_counter_fn *counter,
				 uint64_t *value)
{
	uint32_t lock = load_acquire(&page->lock), index = load(&page->index);
	uint32_t shift = 64 - load(&page->pmc_width);
	struct perf_event_mmap_page cap = { .capabilities = load(&page->capabilities) };
	uint64_t count = load(&page->offset), raw;

	if (lock & 1)
		return PAGE_MOVED;
	/* cap_user_rdpmc alone proves nothing: Linux 6.1 sets it for software events. */
	if (!cap.cap_bit0_is_deprecated || !cap.cap_user_rdpmc)
		return PAGE_SILENT;
	if (index) {
		if (shift > 62 ||
		    !(counter ? counter(index - 1, &raw) : trap_inline(index - 1, &raw)))
			return PAGE_SILENT;
		count += (uint64_t)((int64_t)(raw << shift) >> shift);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (load(&page->lock) != lock)
		return PAGE_MOVED;
	*value = count;
	return index ? PAGE_COUNTING : PAGE_SAVED;
}

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

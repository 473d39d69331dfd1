/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of reading that read_quick() shares with read_value(); private to this room. */
#ifndef PMCBPF_READ_HOW_H
#define PMCBPF_READ_HOW_H

#include "event_page.h"
#include "read.h"

/*
 * read_thread() if that was called, else 0.  Four bytes of every thread's static area: other models
 * of access cost a call each time.
 */
extern __thread pid_t read_thread_id
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* PMCs whose handles end alike have one hint. */
QUICK const struct read_slot *read_how_search(const struct read_table *t, uint32_t pmcid)
{
	const struct read_slot *slot = t->slots, *end = slot + t->top;

	for (; slot < end; slot++)
		if (slot->pmcid == pmcid)
			return slot;
	return NULL;
}

/* NULL where the daemon has to be asked. */
QUICK const struct read_slot *read_how_find(const struct read_table *t, uint32_t pmcid)
{
	uint16_t hint = t->hint[pmcid % READ_HINTS];
	const struct read_slot *slot = (const void *)((const char *)t->slots + hint);

	if (__builtin_expect(slot->pmcid != pmcid, 0))
		slot = read_how_search(t, pmcid);
	return slot && slot->entry && read_alive(t) ? slot : NULL;
}

/* A slice adds its count before it clears its bit: no bit set, nothing missing. */
QUICK bool read_how_counts(const struct read_table *t, unsigned int pos, uint64_t *sum)
{
	const struct wire_counts *c = t->counts, *end = c + t->ncpu;

	for (; c < end; c++) {
		if (load_acquire(&c->open) >> pos & 1)
			return false;
		*sum += load(&c->count[pos]);
	}
	return end != NULL;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The usual path of pmc_read(), where every instruction counts.  A path that needs no system call
 * calls no function either, and so saves no registers; the others end in functions of their own.
 */
#include "event_page.h"
#include "read.h"
#include "read_how.h"

/*
 * Pages do not show that an event was lost on a CPU which the thread has left, nor that registers
 * have become forbidden: a slower read checks that from time to time (`until`).  That read was made
 * by this thread, so read_thread_id is set.
 */
QUICK bool quick_suffices(const struct read_slot *slot)
{
	return slot->tid == read_thread_id && counter_clock() < load(slot->until);
}

/*
 * The sum of a thread's events, one for each CPU, without a system call.  The event of the CPU that
 * runs this must be counting: if none is, one has lost its counter, and the kernel is asked which.
 * It is asked as well when a page changes meanwhile, which is seldom.  A thread that moves between
 * two pages gets a sum between its counts before and after, as with any read.
 */
QUICK bool quick_pages(const struct read_slot *slot, read_counter_fn *counter, uint64_t *sum)
{
	const struct read_event *e = slot->events, *end = e + slot->nevents;
	bool counting = false;
	uint64_t one = 0;

	do {
		enum page_state state = e->page ? event_page(e->page, counter, &one) :
						  PAGE_SILENT;

		if (state == PAGE_SILENT)
			__atomic_store_n(slot->until, 0, __ATOMIC_RELAXED);
		if (state < PAGE_SAVED)
			return false;
		counting |= state == PAGE_COUNTING;
		*sum += one;
	} while (++e < end);
	return counting;
}

/* The result belongs to one state of the PMC only if the entry has not changed meanwhile. */
QUICK bool quick_end(const struct wire_page_pmc *p, uint32_t seq, uint64_t result, uint64_t *value)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (load(&p->seq) != seq)
		return false;
	*value = result;
	return true;
}

QUICK bool quick_events(const struct read_slot *slot, read_counter_fn *counter, uint32_t seq,
			uint64_t *value)
{
	uint64_t sum = load(&slot->entry->base);

	return slot->nevents && slot->generation == load(&slot->entry->generation) &&
	       quick_suffices(slot) && quick_pages(slot, counter, &sum) &&
	       quick_end(slot->entry, seq, sum, value);
}

QUICK bool quick_counts(const struct read_table *t, const struct read_slot *slot, uint32_t seq,
			uint64_t *value)
{
	uint64_t sum = load(&slot->entry->base);

	return read_how_counts(t, slot->pos, &sum) && quick_end(slot->entry, seq, sum, value);
}

/* By a system call, or a test's counter. */
static bool quick_call(const struct read_table *t, const struct read_slot *slot, uint64_t *value)
{
	const struct wire_page_pmc *p = slot->entry;
	uint32_t seq = load_acquire(&p->seq);
	uint64_t sum = load(&p->base), figure;

	if (seq & 1 || load(&p->pmcid) != slot->pmcid)
		return false;
	switch (load(&p->how)) {
	case WIRE_HOW_RUSAGE:
		if (!read_figure(load(&p->quantity), &figure))
			return false;
		sum += read_scale(load(&p->raw) + figure, load(&p->rate));
		break;
	case WIRE_HOW_EVENTS:
		if (t->counter && slot->tid)
			return quick_events(slot, t->counter, seq, value);
		if (slot->tid || slot->nevents != 1 ||
		    slot->generation != load(&p->generation) ||
		    event_page_ask(slot->events, &figure, sizeof(figure)) != sizeof(figure))
			return false;
		sum += figure;
		break;
	default:
		return false;
	}
	return quick_end(p, seq, sum, value);
}

static __attribute__((noinline)) int quick_otherwise(struct read_shared *s, struct read_version *v,
						     const struct read_slot *slot, uint64_t *value,
						     read_slow_fn *slow)
{
	uint32_t pmcid = slot->pmcid;
	bool done = quick_call(&v->table, slot, value);

	return read_share_leave_alone(s, v) && done ? 0 : slow(pmcid, value);
}

TRAP_SECTION int read_quick(struct read_shared *s, uint32_t pmcid, uint64_t *value,
			    read_slow_fn *slow)
{
	struct read_version *v = read_share_enter_alone(s);
	const struct read_table *t = &v->table;
	const struct read_slot *slot;
	bool done = false;
	uint32_t seq, how;

	if (!v)
		return slow(pmcid, value);
	slot = read_how_find(t, pmcid);
	seq = slot ? load_acquire(&slot->entry->seq) : 1;
	if (!(seq & 1) && load(&slot->entry->pmcid) == pmcid) {
		how = load(&slot->entry->how);
		if (how == WIRE_HOW_EVENTS && slot->tid && !t->counter)
			done = quick_events(slot, NULL, seq, value);
		else if (how == WIRE_HOW_COUNTS)
			done = quick_counts(t, slot, seq, value);
		else if (how == WIRE_HOW_VALUE)
			done = quick_end(slot->entry, seq, load(&slot->entry->base), value);
		else
			return quick_otherwise(s, v, slot, value, slow);
	}
	return read_share_leave_alone(s, v) && done ? 0 : slow(pmcid, value);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The usual path of pmc_read(), where every instruction counts.  A path that needs no system call
 * calls no function either, and so saves no registers; the others end in functions of their own.
 */
#include "read.h"
#include "read_how.h"
#include "stay.h"

/* The result belongs to one state of the PMC only if the entry has not changed meanwhile. */
QUICK bool quick_end(const struct wire_page_pmc *p, uint32_t seq, uint64_t result, uint64_t *value)
{
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (load(&p->seq) != seq)
		return false;
	*value = result;
	return true;
}

/* The slot has a thread's events. */
QUICK bool quick_events(const struct read_slot *slot, read_counter_fn *counter, uint64_t *value)
{
	struct pmc_group_member alone;

	if (!stay_suffices(slot->stay, slot->tid) ||
	    !stay_members(slot->stay, &slot->entry, &slot->pmcid, 1, counter, &alone))
		return false;
	*value = alone.pm_value;
	return true;
}

static __attribute__((noinline)) bool events_tested(const struct read_slot *slot,
						    read_counter_fn *counter, uint64_t *value)
{
	/* It is set; the compiler must not put the instructions here. */
	return counter && quick_events(slot, counter, value);
}

/* The thread may have come to this CPU since the last look at all pages. */
static bool quick_all_events(const struct read_table *t, const struct read_slot *slot,
			     uint64_t *value)
{
	struct pmc_group_member alone;
	struct stay_source from;

	if (!stay_suffices(slot->stay, slot->tid))
		return false;
	if (t->counter && events_tested(slot, t->counter, value))
		return true;
	from = stay_alone(slot);
	if (stay_read(t, slot->stay, slot->tid, &from, &alone) != STAY_COUNTING)
		return false;
	*value = alone.pm_value;
	return true;
}

QUICK bool quick_counts(const struct read_table *t, const struct read_slot *slot, uint32_t seq,
			uint64_t *value)
{
	uint64_t sum = load(&slot->entry->base);

	return read_how_counts(t, slot->pos, &sum) && quick_end(slot->entry, seq, sum, value);
}

/* By all pages, by a system call, or a test's counter. */
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
		if (slot->tid)
			return quick_all_events(t, slot, value);
		if (slot->nevents != 1 ||
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

static __attribute__((noinline)) int quick_otherwise(const struct read_slot *slot, uint64_t *value,
						     struct read_shared *s, struct read_version *v,
						     read_slow_fn *slow)
{
	uint32_t pmcid = slot->pmcid;
	bool done = quick_call(&v->table, slot, value);

	return read_share_leave_alone(s, v) && done ? 0 : slow(pmcid, value);
}

/* The arguments stand where slow() takes them. */
TRAP_SECTION int read_quick(uint32_t pmcid, uint64_t *value, struct read_shared *s,
			    read_slow_fn *slow)
{
	struct read_version *v = read_share_enter_alone(s);
	const struct read_table *t = &v->table;
	const struct wire_page_pmc *p;
	const struct read_slot *slot;
	bool done = false;
	uint32_t seq, how;

	if (!v)
		return slow(pmcid, value);
	slot = read_how_find(t, pmcid);
	if (!slot)
		goto leave;
	if (slot->tid && !t->counter && quick_events(slot, NULL, value)) {
		done = true;
		goto leave;
	}
	p = slot->entry;
	seq = load_acquire(&p->seq);
	if (seq & 1 || load(&p->pmcid) != pmcid)
		goto leave;
	how = load(&p->how);
	if (how == WIRE_HOW_VALUE)
		done = quick_end(p, seq, load(&p->base), value);
	else if (how == WIRE_HOW_COUNTS)
		done = quick_counts(t, slot, seq, value);
	else
		return quick_otherwise(slot, value, s, v, slow);
leave:
	return read_share_leave_alone(s, v) && done ? 0 : slow(pmcid, value);
}

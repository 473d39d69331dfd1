/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread's own counts while it stays on its CPU, by one register each; private to this room.
 *
 * The thread has an event for each CPU, but only those of its CPU count.  The kernel changes the
 * lock of an event's page when the thread gets that CPU, when it leaves, and when the register
 * overflows; the daemon changes the number of a PMC's entry.  As long as none of these has changed
 * since all pages were looked at, the registers' numbers and all that they lack are what they were
 * then.  So a reading looks at one page for each count, however many CPUs the machine has.
 */
#ifndef PMCBPF_STAY_H
#define PMCBPF_STAY_H

#include <pmc.h>

#include "event_page.h"
#include "read_how.h"

/* Members of a group, or one PMC, and the events by which they count. */
struct stay_source {
	const struct wire_page_pmc *const *entry;
	const uint32_t *pmcid;
	const uint8_t *place, *owner;	/* as in struct read_group */
	const struct read_event *events;
	unsigned int members, places, groups;
	uint32_t generation;
};

/* One PMC that is read for itself. */
static inline struct stay_source stay_alone(const struct read_slot *slot)
{
	static const uint8_t first[1];

	return (struct stay_source){
		.entry = &slot->entry, .pmcid = &slot->pmcid, .place = first, .owner = first,
		.events = slot->events, .members = 1, .places = 1, .groups = slot->nevents,
		.generation = slot->generation,
	};
}

/* Do the PMCs still count by these events? */
bool stay_current(const struct stay_source *from);

enum stay_state {
	STAY_FORBIDDEN,		/* these registers are none that a program can read */
	STAY_ELSEWHERE,		/* no event counts where the thread is: one may be lost */
	STAY_MOVING,		/* something changes just now: try again */
	STAY_COUNTING,		/* stay_members() may be tried */
};

/* Looks at all pages. */
enum stay_state stay_fill(struct read_stay *s, const struct stay_source *from);

/* The same, and then the values of all members if they are to be had by registers. */
enum stay_state stay_read(const struct read_table *t, struct read_stay *s, pid_t tid,
			  const struct stay_source *from, struct pmc_group_member *members);

/*
 * After the kernel has been asked, and has reported these values: may the next readings use pages
 * and registers?  Not if there is more than they show, as of threads that the C library does not
 * know.
 */
void stay_check(const struct read_table *t, struct read_stay *s, pid_t tid,
		const struct stay_source *from, const struct pmc_group_member *asked);

/*
 * Pages do not show that an event was lost on a CPU which the thread has left, nor that registers
 * have become forbidden: a slower read checks that from time to time (`until`).  That read was made
 * by this thread, so read_thread_id is set.
 */
QUICK bool stay_suffices(const struct read_stay *s, pid_t tid)
{
	return tid && tid == read_thread_id && counter_clock() < load(&s->until);
}

/* False: a test's counter has no such register. */
QUICK bool stay_counter(read_counter_fn *counter, uint32_t index, uint64_t *raw)
{
	if (counter)
		return counter(index, raw);
	*raw = counter_pmc(index);
	return true;
}

/* What would change if the thread left its CPU: each part only goes up.  A constant n is 1. */
QUICK uint64_t stay_stamp(const struct read_stay *s, const struct wire_page_pmc *const *entry,
			  unsigned int n)
{
	const struct read_kept *k = s->kept, *end = k + n;
	uint64_t stamp = 0;

	do {
		const struct perf_event_mmap_page *page = load(&k->page);

		stamp += load(&(*entry++)->seq);
		if (__builtin_constant_p(n) || page)
			stamp += load(&page->lock);
	} while (++k < end);
	return stamp;
}

/* Without `counter` it is the instruction itself: in functions of TRAP_SECTION. */
QUICK bool kept_value(const struct read_kept *k, read_counter_fn *counter, uint64_t *value)
{
	unsigned int shift = load(&k->shift);
	uint64_t raw = 0;

	if (!stay_counter(counter, load(&k->counter), &raw))
		return false;
	*value += (uint64_t)((int64_t)(raw << shift) >> shift);
	return true;
}

/*
 * The values of n members at one instant, in order.  False: something has changed since
 * stay_fill(), or a register trapped.
 */
QUICK bool stay_members(struct read_stay *s, const struct wire_page_pmc *const *entry,
			const uint32_t *pmcid, unsigned int n, read_counter_fn *counter,
			struct pmc_group_member *members)
{
	const struct read_kept *k = s->kept, *end = k + n;
	struct pmc_group_member *m = members;
	uint32_t version = load(&s->version);
	uint64_t stamp = load(&s->stamp);
	unsigned int traps = trap_count;
	bool whole = true;

	if (version & 1 || load(&s->n) != n)
		return false;
	counter_begin();
	do {
		uint64_t value = load(&k->rest);

		if (__builtin_constant_p(n) || load(&k->page))
			whole &= kept_value(k, counter, &value);
		else
			value += members[load(&k->as)].pm_value;
		*m++ = (struct pmc_group_member){ .pm_pmcid = *pmcid++, .pm_value = value };
	} while (++k < end);
	/*
	 * Only this CPU changes the pages, in an interrupt; the daemon's numbers may be looked at
	 * as early as the CPU likes, because the values belong to that moment.
	 */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!whole || (!counter && trap_count != traps)) {
		__atomic_store_n(&s->until, 0, __ATOMIC_RELAXED);
		return false;
	}
	/* A signal handler that has filled it meanwhile has changed the version. */
	return stay_stamp(s, entry, n) == stamp && load(&s->version) == version;
}

#endif

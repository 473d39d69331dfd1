/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of perf events.  Registers are read one right after the other, and the locks of all pages
 * are looked at before and after: if none has changed, the thread was on one CPU all the time, and
 * has not left it.  By the kernel, one read(2) returns a whole group.
 */
#include <errno.h>
#include <sys/single_threaded.h>

#include <pmc.h>

#include "event_page.h"
#include "read.h"
#include "read_how.h"

#define READ_GROUP_TRIES 100

/* What the pages' locks were: the kernel only counts them up, and an odd one is held. */
struct locks {
	uint64_t sum;
	uint32_t any;
};

/* False: a register cannot be read. */
QUICK bool event_add(const struct perf_event_mmap_page *page, read_counter_fn *counter,
		     struct locks *locks, uint64_t *sum)
{
	uint32_t lock = load_acquire(&page->lock), index = load(&page->index);
	uint32_t shift = 64 - load(&page->pmc_width);
	uint64_t count = load(&page->offset), raw;

	locks->sum += lock;
	locks->any |= lock;
	if (index) {
		if (shift > 62 ||
		    !(counter ? counter(index - 1, &raw) : counter_pmc(index - 1, &raw)))
			return false;
		count += (uint64_t)((int64_t)(raw << shift) >> shift);
	}
	*sum += count;
	return true;
}

QUICK uint64_t locks_now(const struct read_event *e, const struct read_event *end)
{
	uint64_t sum = 0;

	for (; e < end; e++)
		sum += load(&e->page->lock);
	return sum;
}

/* Adds each event's count to its owner's value. */
QUICK enum page_state pages_add(const struct read_group *g, read_counter_fn *counter,
				struct pmc_group_member *members)
{
	const struct read_event *e = g->events, *end = e + g->groups * g->places;
	enum page_state state = PAGE_SAVED;
	struct locks locks = { .sum = 0 };
	unsigned int traps = trap_count;

	while (e < end) {
		struct perf_event_mmap_page cap = {
			.capabilities = load(&e->page->capabilities),
		};

		if (!cap.cap_bit0_is_deprecated || !cap.cap_user_rdpmc)
			return PAGE_SILENT;
		/* The first of a group shows where the thread is. */
		if (load(&e->page->index))
			state = PAGE_COUNTING;
		for (const uint8_t *at = g->owner; at < g->owner + g->places; at++, e++)
			if (!event_add(e->page, counter, &locks, &members[*at].pm_value))
				return PAGE_SILENT;
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (!counter && trap_count != traps)
		return PAGE_SILENT;
	return locks.any & 1 || locks_now(g->events, end) != locks.sum ? PAGE_MOVED : state;
}

static TRAP_SECTION enum page_state pages_registers(const struct read_group *g,
						    struct pmc_group_member *members)
{
	return pages_add(g, NULL, members);
}

/* Not inlined either, so that the usual path saves no registers for it. */
static __attribute__((noinline)) enum page_state pages_tested(const struct read_group *g,
							      read_counter_fn *counter,
							      struct pmc_group_member *members)
{
	/* It is set; the compiler must not put the instructions here. */
	return counter ? pages_add(g, counter, members) : PAGE_SILENT;
}

/* Asks the kernel, which also reports a group that has lost its counters. */
static int group_ask(const struct read_table *t, struct read_group *g,
		     struct pmc_group_member *members, struct reason *why)
{
	uint64_t data[1 + WIRE_GROUP_MAX];
	const size_t size = (1 + g->places) * sizeof(data[0]);
	bool own = g->tid && __libc_single_threaded && g->tid == read_thread();

	for (unsigned int i = 0; i < g->groups; i++) {
		ssize_t n = event_page_ask(&g->events[i * g->places], data, size);

		if (n == 0)
			return event_page_lost(why);
		if (n != (ssize_t)size || data[0] != g->places)
			return READ_ASK;
		for (unsigned int j = 0; j < g->places; j++)
			members[g->owner[j]].pm_value += data[1 + j];
	}
	own = own && event_page_ready(t, g->events, g->groups * g->places);
	__atomic_store_n(&g->until, own ? counter_clock() + counter_ticks(READ_CHECK_NS) : 0,
			 __ATOMIC_RELAXED);
	return READ_DONE;
}

/* What the entries' numbers were: the daemon only counts them up, and writes while one is odd. */
struct entries {
	uint64_t sum;
	uint32_t any;
};

QUICK uint64_t entries_now(const struct read_group *g)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < g->members; i++)
		sum += load(&g->entry[i]->seq);
	return sum;
}

/* Each member's value begins with its base.  False: the group does not count by these events. */
QUICK bool entries_begin(const struct read_group *g, struct pmc_group_member *members,
			 struct entries *entries)
{
	const struct wire_page_pmc *first = g->entry[0];

	*entries = (struct entries){ .sum = 0 };
	for (unsigned int i = 0; i < g->members; i++) {
		uint32_t seq = load_acquire(&g->entry[i]->seq);

		entries->sum += seq;
		entries->any |= seq;
		members[i] = (struct pmc_group_member){
			.pm_pmcid = g->pmcid[i], .pm_value = load(&g->entry[i]->base),
		};
	}
	return load(&first->pmcid) == g->pmcid[0] && load(&first->how) == WIRE_HOW_EVENTS &&
	       load(&first->generation) == g->generation;
}

/* Members that count by the event of another get its count.  False: something has changed. */
QUICK bool entries_end(const struct read_group *g, struct pmc_group_member *members,
		       const struct entries *entries)
{
	for (unsigned int i = 0; g->places < g->members && i < g->members; i++) {
		unsigned int owner = g->owner[g->place[i]];

		if (owner != i)
			members[i].pm_value += members[owner].pm_value -
					       load(&g->entry[owner]->base);
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return !(entries->any & 1) && entries_now(g) == entries->sum;
}

/* By the pages alone, for the only thread of a process. */
QUICK enum page_state group_quick(const struct read_table *t, struct read_group *g,
				  struct pmc_group_member *members)
{
	if (counter_clock() >= load(&g->until) || g->tid != read_thread())
		return PAGE_SILENT;
	return t->counter ? pages_tested(g, t->counter, members) : pages_registers(g, members);
}

/* NULL where the daemon has to be asked. */
QUICK struct read_group *group_by_leader(const struct read_table *t, uint32_t leader)
{
	const struct read_slot *slot = read_how_find(t, leader);

	return slot ? slot->group : NULL;
}

QUICK bool group_attempt(const struct read_table *t, uint32_t leader,
			 struct pmc_group_member *members, uint32_t *n)
{
	struct read_group *g = group_by_leader(t, leader);
	struct entries entries;

	if (!g || *n < g->members || !entries_begin(g, members, &entries) ||
	    group_quick(t, g, members) != PAGE_COUNTING || !entries_end(g, members, &entries))
		return false;
	*n = g->members;
	return true;
}

bool read_group_quick(struct read_shared *s, uint32_t leader, struct pmc_group_member *members,
		      uint32_t *n)
{
	struct read_version *v = read_share_enter_alone(s);
	bool done = v && group_attempt(&v->table, leader, members, n);

	return v && read_share_leave_alone(s, v) && done;
}

int read_group(const struct read_table *t, uint32_t leader,
	       struct pmc_group_member *members, const struct read_group **group,
	       struct reason *why)
{
	struct read_group *g = group_by_leader(t, leader);
	struct entries entries;

	*group = g;
	if (!g)
		return READ_ASK;
	for (unsigned int tries = 0; tries < READ_GROUP_TRIES; tries++) {
		enum page_state state = PAGE_SILENT;
		int err = READ_DONE;

		if (!entries_begin(g, members, &entries))
			return READ_ASK;
		if (__libc_single_threaded)
			state = group_quick(t, g, members);
		if (state == PAGE_MOVED)
			continue;
		/* If no group counts here, the kernel is asked which has lost its counters. */
		if (state != PAGE_COUNTING) {
			if (!entries_begin(g, members, &entries))
				return READ_ASK;
			err = group_ask(t, g, members, why);
		}
		if (err || entries_end(g, members, &entries))
			return err;
	}
	return READ_ASK;
}

int read_group_member(const struct read_table *t, uint32_t pmcid, uint64_t *value,
		      struct reason *why)
{
	struct pmc_group_member members[WIRE_GROUP_MAX];
	const struct read_slot *slot = t->slots, *end = slot + t->top;
	const struct read_group *g;
	unsigned int i;
	int err;

	for (; slot < end; slot++) {
		for (i = 0, g = slot->group; g && i < g->members; i++) {
			if (g->pmcid[i] != pmcid)
				continue;
			err = read_group(t, slot->pmcid, members, &g, why);
			if (!err)
				*value = members[i].pm_value;
			return err;
		}
	}
	return READ_ASK;
}

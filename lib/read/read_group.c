/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of perf events: by registers, one right after the other, while the thread stays on its CPU
 * (stay.h); by the kernel, one read(2) returns a whole group.
 */
#include <errno.h>
#include <sys/single_threaded.h>

#include <pmc.h>

#include "read.h"
#include "read_how.h"
#include "stay.h"

#define READ_GROUP_TRIES 100

/* Asks the kernel, which also reports a group that has lost its counters. */
static int group_ask(const struct read_group *g, struct pmc_group_member *members,
		     struct reason *why)
{
	uint64_t data[1 + WIRE_GROUP_MAX];
	const size_t size = (1 + g->places) * sizeof(data[0]);

	for (unsigned int i = 0; i < g->groups; i++) {
		ssize_t n = event_page_ask(&g->events[i * g->places], data, size);

		if (n == 0)
			return event_page_lost(why);
		if (n != (ssize_t)size || data[0] != g->places)
			return READ_ASK;
		for (unsigned int j = 0; j < g->places; j++)
			members[g->owner[j]].pm_value += data[1 + j];
	}
	return READ_DONE;
}

/* What the entries' numbers were: the daemon only counts them up, and writes while one is odd. */
struct entries {
	uint64_t sum;
	uint32_t any;
};

static uint64_t entries_now(const struct read_group *g)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < g->members; i++)
		sum += load(&g->entry[i]->seq);
	return sum;
}

/* Each member's value begins with its base. */
static struct entries entries_begin(const struct read_group *g, struct pmc_group_member *members)
{
	struct entries entries = { .sum = 0 };

	for (unsigned int i = 0; i < g->members; i++) {
		uint32_t seq = load_acquire(&g->entry[i]->seq);

		entries.sum += seq;
		entries.any |= seq;
		members[i] = (struct pmc_group_member){
			.pm_pmcid = g->pmcid[i], .pm_value = load(&g->entry[i]->base),
		};
	}
	return entries;
}

/* Members that count by the event of another get its count.  False: something has changed. */
static bool entries_end(const struct read_group *g, struct pmc_group_member *members,
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

/* NULL where the daemon has to be asked. */
QUICK struct read_group *group_by_leader(const struct read_table *t, uint32_t leader)
{
	const struct read_slot *slot = read_how_find(t, leader);

	return slot ? slot->group : NULL;
}

/* By registers alone, for the only thread of a process. */
QUICK bool group_current(struct read_group *g, read_counter_fn *counter,
			 struct pmc_group_member *members)
{
	return stay_suffices(&g->stay, g->tid) &&
	       stay_members(&g->stay, g->entry, g->pmcid, g->members, counter, members);
}

/* Not inlined, so that the usual path saves no registers for it. */
static __attribute__((noinline)) bool group_tested(struct read_group *g, read_counter_fn *counter,
						   struct pmc_group_member *members)
{
	/* It is set; the compiler must not put the instructions here. */
	return counter && group_current(g, counter, members);
}

static struct stay_source group_source(const struct read_group *g)
{
	return (struct stay_source){
		.entry = g->entry, .pmcid = g->pmcid, .place = g->place, .owner = g->owner,
		.events = g->events, .members = g->members, .places = g->places,
		.groups = g->groups, .generation = g->generation,
	};
}

static __attribute__((noinline)) int group_otherwise(uint32_t leader, uint32_t *n,
						     struct pmc_group_member *members,
						     struct read_shared *s, struct read_version *v,
						     read_group_slow_fn *slow)
{
	struct read_group *g = group_by_leader(&v->table, leader);
	bool done = g && *n >= g->members && group_tested(g, v->table.counter, members);

	if (done)
		*n = g->members;
	return read_share_leave_alone(s, v) && done ? 0 : slow(leader, n, members);
}

TRAP_SECTION int read_group_quick(uint32_t leader, uint32_t *n, struct pmc_group_member *members,
				  struct read_shared *s, read_group_slow_fn *slow)
{
	struct read_version *v = read_share_enter_alone(s);
	struct read_group *g;

	if (!v)
		return slow(leader, n, members);
	g = group_by_leader(&v->table, leader);
	if (!g || v->table.counter || *n < g->members || !group_current(g, NULL, members))
		return group_otherwise(leader, n, members, s, v, slow);
	*n = g->members;
	return read_share_leave_alone(s, v) ? 0 : slow(leader, n, members);
}

int read_group(const struct read_table *t, uint32_t leader,
	       struct pmc_group_member *members, const struct read_group **group,
	       struct reason *why)
{
	struct read_group *g = group_by_leader(t, leader);
	struct stay_source from;
	struct entries entries;

	*group = g;
	if (!g)
		return READ_ASK;
	from = group_source(g);
	for (unsigned int tries = 0; tries < READ_GROUP_TRIES; tries++) {
		enum stay_state state = STAY_FORBIDDEN;
		int err;

		if (__libc_single_threaded)
			state = stay_read(t, &g->stay, g->tid, &from, members);
		if (state == STAY_COUNTING)
			return READ_DONE;
		if (state == STAY_MOVING)
			continue;
		/* If no group counts here, the kernel is asked which has lost its counters. */
		entries = entries_begin(g, members);
		if (!stay_current(&from))
			return READ_ASK;
		err = group_ask(g, members, why);
		if (err)
			return err;
		if (entries_end(g, members, &entries)) {
			stay_check(t, &g->stay, g->tid, &from, members);
			return READ_DONE;
		}
	}
	return READ_ASK;
}

int read_group_member(const struct read_table *t, uint32_t pmcid, uint64_t *value,
		      struct reason *why)
{
	struct pmc_group_member members[WIRE_GROUP_MAX] = { { .pm_value = 0 } };
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

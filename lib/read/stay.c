/* SPDX-License-Identifier: BSD-2-Clause */
/* See stay.h. */
#include <sys/single_threaded.h>

#include "lib/base/thread.h"
#include "stay.h"

/* Locks of pages and numbers of entries: they only go up, and an odd one is held. */
struct numbers {
	uint64_t sum;
	uint32_t any;
};

static void number_add(struct numbers *all, const uint32_t *number)
{
	uint32_t now = load_acquire(number);

	all->sum += now;
	all->any |= now;
}

static struct numbers numbers_now(const struct stay_source *from)
{
	const struct read_event *e = from->events, *end = e + from->groups * from->places;
	struct numbers all = { .sum = 0 };

	for (; e < end; e++)
		number_add(&all, &e->page->lock);
	for (unsigned int i = 0; i < from->members; i++)
		number_add(&all, &from->entry[i]->seq);
	return all;
}

static bool page_allows(const struct perf_event_mmap_page *page)
{
	struct perf_event_mmap_page cap = { .capabilities = load(&page->capabilities) };
	uint16_t width = load(&page->pmc_width);

	/* cap_user_rdpmc alone proves nothing: Linux 6.1 sets it for software events. */
	return cap.cap_bit0_is_deprecated && cap.cap_user_rdpmc && width >= 2 && width <= 64;
}

/* The first event of a group shows where the thread is. */
static enum stay_state events_here(const struct stay_source *from, const struct read_event **here)
{
	const struct read_event *e = from->events, *end = e + from->groups * from->places;

	*here = NULL;
	for (; e < end; e += from->places) {
		for (unsigned int i = 0; i < from->places; i++)
			if (!e[i].page || !page_allows(e[i].page))
				return STAY_FORBIDDEN;
		if (load(&e->page->index))
			*here = e;
	}
	return *here ? STAY_COUNTING : STAY_ELSEWHERE;
}

bool stay_current(const struct stay_source *from)
{
	const struct wire_page_pmc *first = from->entry[0];

	return load(&first->pmcid) == from->pmcid[0] && load(&first->how) == WIRE_HOW_EVENTS &&
	       load(&first->generation) == from->generation;
}

static enum stay_state kept_fill(struct read_kept *k, const struct stay_source *from,
				 unsigned int member, const struct read_event *here)
{
	unsigned int place = from->place[member], owner = from->owner[place];
	const struct perf_event_mmap_page *page = here[place].page;
	uint64_t rest = load(&from->entry[member]->base);
	uint32_t index = load(&page->index);

	if (owner != member) {
		*k = (struct read_kept){ .as = owner,
					 .rest = rest - load(&from->entry[owner]->base) };
		return STAY_COUNTING;
	}
	for (unsigned int g = 0; g < from->groups; g++)
		rest += load(&from->events[g * from->places + place].page->offset);
	*k = (struct read_kept){ .page = page, .counter = index - 1, .rest = rest,
				 .shift = 64 - load(&page->pmc_width) };
	if (!index)
		return STAY_MOVING;
	return counter_valid(index - 1) ? STAY_COUNTING : STAY_FORBIDDEN;
}

static enum stay_state stay_look(struct read_stay *s, const struct stay_source *from)
{
	const struct read_event *here;
	enum stay_state state = events_here(from, &here);
	struct numbers before;

	if (state != STAY_COUNTING)
		return state;
	before = numbers_now(from);
	if (before.any & 1)
		return STAY_MOVING;
	if (!stay_current(from))
		return STAY_ELSEWHERE;
	for (unsigned int i = 0; i < from->members && state == STAY_COUNTING; i++)
		state = kept_fill(&s->kept[i], from, i, here);
	if (state != STAY_COUNTING)
		return state;
	s->stamp = stay_stamp(s, from->entry, from->members);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return numbers_now(from).sum == before.sum ? STAY_COUNTING : STAY_MOVING;
}

enum stay_state stay_fill(struct read_stay *s, const struct stay_source *from)
{
	uint32_t version = s->version;
	enum stay_state state;

	/* It is being filled, and a signal handler reads meanwhile. */
	if (version & 1)
		return STAY_MOVING;
	__atomic_store_n(&s->version, version + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	state = stay_look(s, from);
	if (state == STAY_FORBIDDEN)
		__atomic_store_n(&s->until, 0, __ATOMIC_RELAXED);
	s->n = state == STAY_COUNTING ? from->members : 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&s->version, version + 2, __ATOMIC_RELAXED);
	return state;
}

static TRAP_SECTION bool members_registers(struct read_stay *s, const struct stay_source *from,
					   struct pmc_group_member *members)
{
	return stay_members(s, from->entry, from->pmcid, from->members, NULL, members);
}

static __attribute__((noinline)) bool members_tested(const struct read_table *t,
						     struct read_stay *s,
						     const struct stay_source *from,
						     struct pmc_group_member *members)
{
	/* It is set; the compiler must not put the instructions here. */
	return t->counter &&
	       stay_members(s, from->entry, from->pmcid, from->members, t->counter, members);
}

enum stay_state stay_read(const struct read_table *t, struct read_stay *s, pid_t tid,
			  const struct stay_source *from, struct pmc_group_member *members)
{
	enum stay_state state = stay_suffices(s, tid) ? stay_fill(s, from) : STAY_FORBIDDEN;

	if (state != STAY_COUNTING)
		return state;
	return (t->counter ? members_tested(t, s, from, members) :
			     members_registers(s, from, members)) ? STAY_COUNTING : STAY_MOVING;
}

/* Pages lack what a thread has counted that still runs, or that has just ended. */
static __attribute__((noinline)) bool pages_show(const struct read_table *t, struct read_stay *s,
						 pid_t tid, const struct stay_source *from,
						 const struct pmc_group_member *asked)
{
	struct pmc_group_member shown[WIRE_GROUP_MAX];
	bool all = stay_read(t, s, tid, from, shown) == STAY_COUNTING;

	for (unsigned int i = 0; all && i < from->members; i++)
		all = shown[i].pm_value >= asked[i].pm_value;
	return all;
}

void stay_check(const struct read_table *t, struct read_stay *s, pid_t tid,
		const struct stay_source *from, const struct pmc_group_member *asked)
{
	bool own = tid && __libc_single_threaded && tid == read_thread() &&
		   event_page_ready(t, from->events, from->groups * from->places) && thread_alone();

	__atomic_store_n(&s->until, own ? counter_clock() + counter_ticks(READ_CHECK_NS) : 0,
			 __ATOMIC_RELAXED);
	if (own && !pages_show(t, s, tid, from, asked))
		__atomic_store_n(&s->until, 0, __ATOMIC_RELAXED);
}

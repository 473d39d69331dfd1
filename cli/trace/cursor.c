/* SPDX-License-Identifier: BSD-2-Clause */
/* Walks through one ring: see cursor.h. */
#include <errno.h>
#include <stdlib.h>

#include "cursor.h"

/* Writers of a ring may overtake each other: a small step back in time is no gap. */
#define CURSOR_JITTER 262144u

/* The oldest entry that no writer can be overwriting at this moment. */
static uint64_t cursor_oldest_number(const struct rings *rings, uint64_t head)
{
	uint32_t entries = rings->header.entries;

	if (rings->scan || head < entries)
		return 0;
	return entries == 1 ? head - 1 : head - entries + 1;
}

int cursor_open(struct cursor *c, struct rings *rings, uint32_t ring)
{
	*c = (struct cursor){ .rings = rings, .ring = ring, .cpu = ring };
	return cursor_again(c);
}

int cursor_again(struct cursor *c)
{
	uint64_t low;

	c->error = c->rings->head(c->rings, c->ring, &c->high);
	if (c->error) {
		c->high = c->low;
		return c->error;
	}
	c->end = c->high;
	if (c->rings->scan && c->high) {
		struct ktr_entry newest = { 0 };

		c->error = c->rings->copy(c->rings, c->ring, c->high - 1, 1, &newest);
		c->end = newest.ktr_seq;
	}
	low = cursor_oldest_number(c->rings, c->high);
	/* The rings were cleared in between: all entries are new. */
	if (c->high < c->low) {
		c->low = low;
		c->from = c->to = 0;
	}
	if (low > c->low) {
		c->lost += c->begun ? low - c->low : 0;
		c->low = low;
	}
	return c->error;
}

void cursor_close(struct cursor *c)
{
	free(c->window);
	c->window = NULL;
}

/*
 * Copies entries [from, to) into the window; those overwritten in between are dropped from the
 * walk.
 */
static bool cursor_fetch(struct cursor *c, uint64_t from, uint64_t to)
{
	uint64_t head, low;

	if (!c->window)
		c->window = malloc(CURSOR_WINDOW * sizeof(*c->window));
	c->error = c->window ? c->rings->copy(c->rings, c->ring, from, (size_t)(to - from),
					      c->window) : -ENOMEM;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	/* A file does not change while it is read. */
	head = c->end;
	if (!c->error && c->rings->mem->live)
		c->error = c->rings->head(c->rings, c->ring, &head);
	if (c->error) {
		c->low = c->high;
		return false;
	}
	c->begun = true;
	c->from = from;
	c->to = to;
	low = cursor_oldest_number(c->rings, head);
	if (low > c->low) {
		c->lost += (low < c->high ? low : c->high) - c->low;
		c->low = low < c->high ? low : c->high;
	}
	return true;
}

/* Not yet written: the slot is empty, or has the entry of the previous lap. */
static bool entry_is_open(const struct cursor *c, uint32_t seq, uint64_t number)
{
	return seq == 0 || seq == (uint32_t)(number + 1 - c->rings->header.entries);
}

static const struct ktr_entry *cursor_entry(const struct cursor *c, uint64_t number)
{
	return &c->window[number - c->from];
}

/* Entry `number` from the window; false: it is not shown. */
static bool cursor_take(struct cursor *c, uint64_t number, bool newest, struct item *item)
{
	const struct ktr_entry *entry = cursor_entry(c, number);
	const struct rings *rings = c->rings;
	bool own = rings->scan || entry->ktr_seq == (uint32_t)(number + 1);
	uint64_t back, time;

	if (!own && entry_is_open(c, entry->ktr_seq, number))
		return false;
	item->entry = entry;
	item->rings = rings;
	item->cursor = c;
	item->number = number;
	item->joined = false;
	item->cpu = c->cpu;
	item->index = (uint32_t)(rings->scan ? entry->ktr_seq - 1 : number) &
		      (rings->header.entries - 1);
	item->corrupt = !own || (rings_kernel(rings) && (entry->ktr_desc >> 48 != KTR_DESC_TAG ||
				 KTR_DESC_CPU(entry->ktr_desc) != c->cpu));
	if (item->corrupt) {
		item->time = c->time ? c->time : newest ? UINT64_MAX : 0;
		return true;
	}
	time = rings_time(rings, entry->ktr_time);
	back = newest ? time - c->time : c->time - time;
	if (c->time && (int64_t)back > 0 && back > c->skew &&
	    (back > CURSOR_JITTER || (rings->header.flags & KTR_REGION_RSEQ)))
		c->skew = back;
	c->time = item->time = time;
	return true;
}

bool cursor_newest(struct cursor *c, struct item *item)
{
	while (c->low < c->high) {
		uint64_t number = c->high - 1;

		if ((number < c->from || number >= c->to) &&
		    !cursor_fetch(c, c->high - c->low > CURSOR_WINDOW ? c->high - CURSOR_WINDOW :
									c->low, c->high))
			break;
		if (number < c->low)
			break;
		c->high--;
		/* Other rings probably have the next entries, which gives the prefetch its time. */
		__builtin_prefetch(cursor_entry(c, number) - 1);
		if (cursor_take(c, number, true, item))
			return true;
	}
	return false;
}

bool cursor_oldest(struct cursor *c, struct item *item)
{
	while (c->low < c->high) {
		uint64_t number = c->low;

		if (number < c->from || number >= c->to) {
			if (!cursor_fetch(c, number,
					  c->high - number > CURSOR_WINDOW ?
						  number + CURSOR_WINDOW :
						  c->high))
				break;
			continue;
		}
		if (cursor_take(c, number, false, item)) {
			c->low++;
			return true;
		}
		/* A follower waits for an open entry once. */
		if (c->patient && c->waited <= number) {
			c->waited = number + 1;
			c->high = c->to = number;
			break;
		}
		c->low++;
	}
	return false;
}

bool cursor_beside(const struct item *item, int step, struct ktr_entry *entry)
{
	struct cursor *c = item->cursor;
	uint64_t number = item->number + (uint64_t)(int64_t)step, head = c->end;

	if (c->rings->scan || number >= head || number < cursor_oldest_number(c->rings, head) ||
	    c->rings->copy(c->rings, c->ring, number, 1, entry) != 0)
		return false;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (c->rings->mem->live && c->rings->head(c->rings, c->ring, &head) != 0)
		return false;
	return entry->ktr_seq == (uint32_t)(number + 1) &&
	       number >= cursor_oldest_number(c->rings, head);
}

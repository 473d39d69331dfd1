/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks of regions, and walks through their rings: see rings.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rings.h"
#include "cli/common/common.h"
#include "region.h"

/* Writers of a ring may overtake each other: a small step back in time is no gap. */
#define RINGS_JITTER 262144u

static uint64_t rings_ring(const struct rings *rings, uint32_t ring)
{
	return rings->base + region_ring(&rings->header, ring);
}

static int rings_region_head(struct rings *rings, uint32_t ring, uint64_t *head)
{
	return memory_get(rings->mem, rings_ring(rings, ring), head, sizeof(*head));
}

static int rings_region_copy(struct rings *rings, uint32_t ring, uint64_t number, size_t count,
			     struct ktr_entry *to)
{
	uint64_t first = rings_ring(rings, ring) + sizeof(struct ktr_ring);
	uint32_t slot = (uint32_t)(number & (rings->header.entries - 1));
	size_t part = rings->header.entries - slot;
	int err;

	if (part > count)
		part = count;
	err = memory_get(rings->mem, first + (uint64_t)slot * KTR_ENTRY_SIZE, to,
		      part * sizeof(*to));
	if (!err && part < count)
		err = memory_get(rings->mem, first, to + part, (count - part) * sizeof(*to));
	return err;
}

int rings_probe(struct memory *mem, uint64_t base)
{
	char magic[sizeof(KTR_REGION_MAGIC)];
	int err = memory_get(mem, base, magic, sizeof(magic));

	if (err)
		return err;
	return memcmp(magic, KTR_REGION_MAGIC, sizeof(magic)) == 0 ? 0 : -ENOMSG;
}

static int rings_read_formats(struct rings *rings)
{
	const struct ktr_region *h = &rings->header;
	int err;

	if (!h->formats)
		return 0;
	rings->formats = calloc(h->formats, sizeof(*rings->formats));
	if (!rings->formats)
		return fail(EX_OSERR, "ERROR: out of memory");
	err = memory_get(rings->mem, rings->base + h->formats_offset, rings->formats,
		      h->formats * sizeof(*rings->formats));
	if (!err)
		return 0;
	rings_close(rings);
	return fail(EX_DATAERR, "ERROR: %s: the table of formats cannot be read: %s", rings->name,
		    strerror(-err));
}

int rings_open(struct rings *rings, struct memory *mem, uint64_t base, const char *name)
{
	const char *fault;
	int err;

	*rings = (struct rings){ .mem = mem,
				 .base = base,
				 .name = name,
				 .head = rings_region_head,
				 .copy = rings_region_copy };
	err = rings_probe(mem, base);
	if (err == -ENOMSG || err == -EFAULT)
		return fail(EX_DATAERR, "ERROR: %s: no trace rings: neither written by a program "
			    "with KTR_FILE nor by tdump --save", name);
	if (!err)
		err = memory_get(mem, base, &rings->header, sizeof(rings->header));
	if (err)
		return fail(EX_IOERR, "ERROR: %s: cannot be read: %s", name, strerror(-err));
	/* Terminates texts, whatever they contain. */
	rings->header.exe[sizeof(rings->header.exe) - 1] = '\0';
	rings->header.comm[sizeof(rings->header.comm) - 1] = '\0';
	if (rings->header.build_id_size > sizeof(rings->header.build_id))
		rings->header.build_id_size = 0;
	fault = region_fault(&rings->header, mem->size ? mem->size - base : UINT64_MAX);
	if (fault)
		return fail(EX_DATAERR, "ERROR: %s: unsound rings: %s", name, fault);
	return rings_read_formats(rings);
}

void rings_close(struct rings *rings)
{
	free(rings->formats);
	rings->formats = NULL;
}

static int rings_rate(struct rings *rings, const struct ktr_stamp *from, const struct ktr_stamp *to)
{
	if (!from->monotonic || to->monotonic <= from->monotonic || to->clock <= from->clock)
		return -ENODATA;
	rings->ns_a_clock = (double)(to->monotonic - from->monotonic) /
			    (double)(to->clock - from->clock);
	return 0;
}

int rings_to_ns(struct rings *rings, const struct ktr_stamp *now)
{
	const struct ktr_region *h = &rings->header;

	rings->clock0 = h->first.clock;
	rings->ns0 = h->first.monotonic;
	if (h->clock == KTR_CLOCK_MONOTONIC || h->clock == KTR_CLOCK_COARSE) {
		rings->clock0 = rings->ns0 = 0;
		rings->ns_a_clock = 1;
		return 0;
	}
	if ((now && rings_rate(rings, &h->first, now) == 0) ||
	    rings_rate(rings, &h->first, &h->last) == 0)
		return 0;
	if (!h->frequency)
		return -ENODATA;
	rings->ns_a_clock = 1e9 / (double)h->frequency;
	return 0;
}

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
	    (back > RINGS_JITTER || (rings->header.flags & KTR_REGION_RSEQ)))
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

bool item_beside(const struct item *item, int step, struct ktr_entry *entry)
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

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rings of a region (<sys/ktr_region.h>) in any memory, checked, and cursors that walk one ring
 * from either end.  A cursor copies a small window of entries at a time, so that a ring of a
 * gigabyte needs no more room than a short one, and checks entries in its copy.
 */
#ifndef PMCBPF_CLI_TRACE_RINGS_H
#define PMCBPF_CLI_TRACE_RINGS_H

#include <sys/ktr_region.h>

#include "memory.h"

#define CURSOR_WINDOW 128u		/* entries */

struct rings {
	struct memory *mem;
	const char *name;	/* for messages */
	struct ktr_region header;
	struct ktr_format *formats;
	uint64_t base;		/* of the header in memory */
	/* Entries ever written; copies entries [number, number + count).  0 or -errno. */
	int (*head)(struct rings *rings, uint32_t ring, uint64_t *head);
	int (*copy)(struct rings *rings, uint32_t ring, uint64_t number, size_t count,
		    struct ktr_entry *to);
	struct scan *scan;	/* scan.c's entries; NULL: a region */
	/* Conversion to the clock on which all rings are shown; 0: none. */
	double ns_a_clock;
	uint64_t clock0, ns0;
};

/* Opens the region at `base`.  0, or an exit code after a line that names `name`. */
int rings_open(struct rings *rings, struct memory *mem, uint64_t base, const char *name);
void rings_close(struct rings *rings);

/* Checks a region's magic.  0 or -errno. */
int rings_probe(struct memory *mem, uint64_t base);

static inline bool rings_kernel(const struct rings *rings)
{
	return rings->header.flags & KTR_REGION_KERNEL;
}

/*
 * Converts times to ns from now on.  `now` is a stamp taken on the same machine, or NULL.  0, or
 * -ENODATA: the frequency of the clock is unknown.
 */
int rings_to_ns(struct rings *rings, const struct ktr_stamp *now);

/* An entry's time on the chosen clock; a coarse clock's in us. */
static inline uint64_t rings_time(const struct rings *rings, uint64_t time)
{
	if (rings->header.clock == KTR_CLOCK_COARSE)
		return ((time >> 32) * 1000000 + (uint32_t)time) *
		       (rings->ns_a_clock != 0 ? 1000 : 1);
	if (rings->ns_a_clock == 0)
		return time;
	return rings->ns0 + (uint64_t)(int64_t)((double)(int64_t)(time - rings->clock0) *
						rings->ns_a_clock);
}

struct item {
	const struct ktr_entry *entry;
	const struct rings *rings;
	struct cursor *cursor;
	uint64_t number;	/* position in the cursor's walk */
	uint64_t time;		/* rings_time(); a corrupt entry has its neighbour's */
	uint32_t cpu;
	uint32_t index;		/* number in its ring */
	bool corrupt;		/* damaged, or overwritten while it was read */
	bool joined;		/* CTR6: `sixth` comes from its second entry */
	uint64_t sixth;
};

struct cursor {
	struct rings *rings;
	struct ktr_entry *window;	/* entries [from, to) */
	uint64_t from, to;
	uint64_t low, high;	/* entries still to be walked */
	uint64_t end;		/* the ring's head when the walk began */
	uint64_t time;		/* of the last entry returned */
	uint64_t skew;		/* largest amount by which an older entry's time is later */
	uint64_t lost;		/* overwritten before they were read */
	uint32_t ring, cpu;
	uint64_t joined, sixth;	/* CTR6: 1 + number of the entry to come, 0: none; its word */
	uint64_t waited;	/* number after the entry that was open in the last pass */
	bool begun;
	bool patient;		/* stops once at an open entry, which may be written later */
	int error;		/* -errno; the cursor is at its end */
};

/* Opens a cursor on ring `ring`.  0 or -errno. */
int cursor_open(struct cursor *cursor, struct rings *rings, uint32_t ring);

/* Looks for new entries.  0 or -errno. */
int cursor_again(struct cursor *cursor);
void cursor_close(struct cursor *cursor);

/* Takes the entry at that end of the walk; false: none is left.  Valid until the next call. */
bool cursor_newest(struct cursor *cursor, struct item *item);
bool cursor_oldest(struct cursor *cursor, struct item *item);

/* The entry before (step -1) or after (1) one that was returned; false: it is not available. */
bool item_beside(const struct item *item, int step, struct ktr_entry *entry);

#endif

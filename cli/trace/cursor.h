/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cursors walk one ring from either end.  A cursor copies a small window of entries at a time, so
 * that a ring of a gigabyte needs no more room than a short one, and checks entries in its copy.
 */
#ifndef PMCBPF_CLI_TRACE_CURSOR_H
#define PMCBPF_CLI_TRACE_CURSOR_H

#include "rings.h"

#define CURSOR_WINDOW 128u		/* entries */

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
bool cursor_beside(const struct item *item, int step, struct ktr_entry *entry);

#endif

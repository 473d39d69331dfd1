/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fibers that wait until drains have written all records up to a moment.
 *
 * A drain ends early where an exec is still incomplete (process/process_events.c) or a record is
 * being written, and later drains write the rest.  Where records would be dropped, because a PMC
 * stops, is released or loses its log, the operation waits here first.
 *
 * Example: PMC 1 is released at 100, and some other process has been in an exec since 95.  The
 * drain writes records up to 94, and the fiber waits; at 102 the exec is complete, the next drain
 * writes records up to 102, and the release goes on.
 */
#ifndef PMCBPF_DRAIN_WAITS_H
#define PMCBPF_DRAIN_WAITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "loader/base/base.h"

struct drain_wait {
	TAILQ_ENTRY(drain_wait) next;
	struct fiber *fiber;
};

struct drain_waits {
	TAILQ_HEAD(, drain_wait) waits;
	uint64_t begun;			/* when the last drain began … */
	uint64_t written;		/* … and up to which time it wrote everything */
};

void drain_waits_init(struct drain_waits *ws);
/* A drain has ended: its fibers look again. */
void drain_waits_wake(struct drain_waits *ws, uint64_t begun, uint64_t written);
/* True while a fiber waits: drains have to come. */
bool drain_waits_any(const struct drain_waits *ws);

/*
 * Joins the fibers that wait; false: this is no fiber, or fibers do not wait any more.  Then
 * drain_wait_end() returns once all records up to `until` have been written, or cannot be for
 * longer than any exec takes.
 */
bool drain_wait_begin(struct drain_waits *ws, struct fibers *fs, struct drain_wait *w);
void drain_wait_end(struct drain_waits *ws, struct fibers *fs, struct drain_wait *w,
		    uint64_t until);
/* … or it returns after the next drain. */
void drain_wait_next(struct drain_waits *ws, struct fibers *fs, struct drain_wait *w);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* See drain_waits.h. */
#include "drain_waits.h"

#define LONGEST_NS 200000000u		/* an exec delays others by 40 ms at most */

void drain_waits_init(struct drain_waits *ws)
{
	TAILQ_INIT(&ws->waits);
	ws->begun = ws->written = 0;
}

void drain_waits_wake(struct drain_waits *ws, uint64_t begun, uint64_t written)
{
	struct drain_wait *w;

	ws->begun = begun;
	ws->written = written;
	TAILQ_FOREACH(w, &ws->waits, next)
		fiber_wake(w->fiber);
}

bool drain_waits_any(const struct drain_waits *ws)
{
	return !TAILQ_EMPTY(&ws->waits);
}

bool drain_wait_begin(struct drain_waits *ws, struct fibers *fs, struct drain_wait *w)
{
	w->fiber = fiber_current(fs);
	if (!w->fiber || fibers_hurried(fs))
		return false;
	TAILQ_INSERT_TAIL(&ws->waits, w, next);
	return true;
}

/* Judged by the last drain, so that a daemon that was not scheduled for long does not give up. */
void drain_wait_end(struct drain_waits *ws, struct fibers *fs, struct drain_wait *w,
		    uint64_t until)
{
	while (ws->written < until && ws->begun < until + LONGEST_NS && !fibers_hurried(fs))
		fiber_park(fs);
	TAILQ_REMOVE(&ws->waits, w, next);
}

void drain_wait_next(struct drain_waits *ws, struct fibers *fs, struct drain_wait *w)
{
	fiber_park(fs);
	TAILQ_REMOVE(&ws->waits, w, next);
}

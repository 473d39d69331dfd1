/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fibers: operations that take long run in slices, so that the one thread of the event loop is
 * never one client's for more than a moment.
 *
 * A fiber is a function on a stack of its own.  It runs until it returns, has used up its slice
 * (fiber_breathe()), or waits for something (fiber_park()); then whoever resumed it goes on.  There
 * is no other thread, so code between two of these calls needs no lock, and whatever it knows of
 * the daemon's state it must look up again behind them.  What is certain across them is the
 * client's own: its owner has one request at work at a time, and neither PMCs nor log of an owner
 * end before that request has (server.c).
 *
 * Outside of a fiber, and once fibers_hurry() has been called, fiber_breathe() returns at once.
 */
#ifndef PMCBPF_FIBER_H
#define PMCBPF_FIBER_H

#include <stdbool.h>

struct fiber;
struct fibers;

struct fibers *fibers_new(void);
/* All fibers must have ended. */
void fibers_free(struct fibers *fs);

/*
 * A fiber that has not begun yet; NULL: no memory.  It is gone when fiber_resume() returns ENDED.
 * `woken` is called when a parked one may be resumed, and does not resume it itself.
 */
struct fiber *fiber_new(struct fibers *fs, void (*fn)(void *arg), void (*woken)(void *arg),
			void *arg);

enum fiber_state {
	FIBER_ENDED,
	FIBER_READY,			/* its slice was over: resume it when others had theirs */
	FIBER_PARKED,			/* it waits: resume it when that has happened */
};
enum fiber_state fiber_resume(struct fiber *f);

/* --- inside of a fiber ------------------------------------------------------------------------ */

/* The one that runs; NULL: none does. */
struct fiber *fiber_current(const struct fibers *fs);
/* Lets others go on if the slice is over. */
void fiber_breathe(struct fibers *fs);
/*
 * From `hold` true to `hold` false, which nest, fiber_breathe() returns at once: no other operation
 * sees the work in between half done.  Nothing parks there.
 */
void fibers_hold(struct fibers *fs, bool hold);
/* Waits for fiber_wake(). */
void fiber_park(struct fibers *fs);
void fiber_wake(struct fiber *f);

/* From now on nobody is waited for: the daemon ends. */
void fibers_hurry(struct fibers *fs);
bool fibers_hurried(const struct fibers *fs);

#endif

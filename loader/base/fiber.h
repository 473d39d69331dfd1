/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fibers: long operations run in slices, so that the event loop's one thread serves each client for
 * a moment only.
 *
 * A fiber is a function on a stack of its own.  It runs until it returns, gives up the CPU because
 * its slice is over (fiber_breathe()), or waits (fiber_park()); then fiber_resume() returns.  All
 * fibers are in one thread, so code between two of these calls needs no lock.  After such a call it
 * must look up the daemon's state again, except its own owner's: an owner has one request at work
 * at a time, and its PMCs and its log live until that has finished (server/work.h).
 *
 * Outside of a fiber, and after fibers_hurry(), fiber_breathe() returns at once.
 *
 * Example: an allocation that waits for the kernel's grace period parks its fiber.  The event loop
 * serves other clients; when the wait is over, fiber_wake() calls `woken`, which queues the request
 * again, and in its user's next turn fiber_resume() continues behind fiber_park().
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
 * A fiber that has not begun; NULL: no memory.  fiber_resume() frees it when it returns ENDED.
 * `woken` is called when a parked fiber may be resumed; it must not resume it itself.
 */
struct fiber *fiber_new(struct fibers *fs, void (*fn)(void *arg), void (*woken)(void *arg),
			void *arg);

enum fiber_state {
	FIBER_ENDED,
	FIBER_READY,			/* its slice is over: resume it after the others */
	FIBER_PARKED,			/* it waits: resume it after `woken` */
};
enum fiber_state fiber_resume(struct fiber *f);

/* --- inside of a fiber ------------------------------------------------------------------------ */

/* The fiber that runs; NULL: none. */
struct fiber *fiber_current(const struct fibers *fs);
/* Gives up the CPU if the slice is over. */
void fiber_breathe(struct fibers *fs);
/*
 * Between fibers_hold(true) and fibers_hold(false), which nest, fiber_breathe() returns at once, so
 * that no other operation sees work half done.  The fiber must not park in between.
 */
void fibers_hold(struct fibers *fs, bool hold);
/* Waits for fiber_wake(). */
void fiber_park(struct fibers *fs);
void fiber_wake(struct fiber *f);

/* The daemon ends: from now on fibers do not wait. */
void fibers_hurry(struct fibers *fs);
bool fibers_hurried(const struct fibers *fs);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that loads programs for operations.  The kernel verifies a program for up to 100 ms,
 * and users cause that as often as they like; the event loop serves others meanwhile.
 *
 * load_thread_do() is the fibers' and the event loop's; its function runs in the thread, one at a
 * time.  It may use libbpf, whatever is the same from engine_new() on, and its argument.  The
 * thread starts with the first function.
 */
#ifndef PMCBPF_LOAD_THREAD_H
#define PMCBPF_LOAD_THREAD_H

#include <stdint.h>

struct fibers;
struct load_thread;

/* NULL: no memory, or no descriptor. */
struct load_thread *load_thread_new(void);
/* No fiber may wait any more. */
void load_thread_free(struct load_thread *t);
/* From now on fibers wait; before, and outside of a fiber, the caller's thread does. */
void load_thread_fibers_from(struct load_thread *t, struct fibers *fibers);

/*
 * Calls fn(arg) in the thread, or here if no thread can be made, and waits for its end.  Users take
 * turns, however many of their functions wait: each has a number of its own at `user`, 0 at first,
 * which the thread changes.
 */
void load_thread_do(struct load_thread *t, uint64_t *user, void (*fn)(void *arg), void *arg);

/* Readable when load_thread_wake() has fibers to wake. */
int load_thread_fd(const struct load_thread *t);
void load_thread_wake(struct load_thread *t);

#endif

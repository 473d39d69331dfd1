/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The room of reading: the value of a PMC without asking the daemon.
 *
 * A shared page of the daemon has for each PMC the way to read it (enum wire_how): the value
 * itself, per-CPU counts of the BPF programs, the kernel's usage figures, perf events, the time
 * stamp counter. read_value() has a function for each.  Perf events are read through their mapped
 * pages and the counter instruction where the kernel allows that, else by read(2).
 *
 * Any thread may read, also in a signal handler, and no reader waits: the table of pages and events
 * is versioned (read_share.h), a page's entry is guarded by a sequence number, and a reader that
 * finds it changed tries again.  An answer belongs to one state of the PMC, or the daemon is asked.
 *
 * A count that may be stale or another's is never used: a dead daemon's page is recognised by its
 * robust futex, a closed descriptor by its identity (ownfd.h), an event that lost its counter by
 * read(2) every READ_CHECK_NS, a forbidden counter instruction by its trap (trap.h).
 */
#ifndef PMCBPF_READ_H
#define PMCBPF_READ_H

#include <linux/futex.h>

#include "lib/base/reason.h"
#include "ownfd.h"
#include "read_group.h"
#include "read_share.h"
#include "read_table.h"

/* False when the daemon is gone, or was never there. */
static inline bool read_alive(const struct read_table *t)
{
	const struct wire_alive *a = t->alive;

	return a && !(__atomic_load_n(&a->futex, __ATOMIC_RELAXED) & FUTEX_OWNER_DIED);
}

/* The time for which a lost counter may go unnoticed on a CPU that the thread has left. */
#define READ_CHECK_NS 10000000u

enum { READ_DONE = 0, READ_ASK = 1 };
/* READ_DONE with *value, READ_ASK when only the daemon knows, or -errno. */
int read_value(const struct read_table *t, uint32_t pmcid, uint64_t *value, struct reason *why);

/*
 * The register that counts for a PMC now, as the instruction takes it: its number in the mapped
 * page minus 1.  -EAGAIN: none now; -EBUSY: lost; -ENOSYS: none that this process may read.
 */
int read_register(const struct read_table *t, uint32_t pmcid, uint32_t *index, struct reason *why);

/*
 * One attempt to read without set-up, for the only thread of a process: returns 0, or the result of
 * slow().  It may have stored a value by then.
 */
typedef int read_slow_fn(uint32_t pmcid, uint64_t *value);
int read_quick(uint32_t pmcid, uint64_t *value, struct read_shared *s, read_slow_fn *slow);

/* The calling thread's id, remembered; forgotten in the child after a fork. */
pid_t read_thread(void);
void read_forget_thread(void);

/* The caller's own figure, by the cheapest system call; false: only the daemon has it. */
bool read_figure(uint32_t quantity, uint64_t *figure);

/* figure * rate / 10^9 without overflow; rate 0: the figure itself. */
uint64_t read_scale(uint64_t figure, uint32_t rate);

#endif

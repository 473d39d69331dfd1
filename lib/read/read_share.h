/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of pages and events as the threads and signal handlers of a program share it.
 *
 * A reader never waits: neither for a thread that changes the table, nor for the thread that its
 * signal handler interrupts.  So a published table never changes.  A writer copies it to a new
 * version, changes the copy and publishes it; readers continue with the version that they have.
 * Each version counts its readers.  The mappings and descriptors that only a retired version has
 * are released when it has no reader left, by the writer or by the last reader.
 *
 * Versions themselves are never freed, only reused.  A reader may be interrupted between finding a
 * version and incrementing its count: the count is then still a version's, and the reader sees that
 * another version is current, and starts again.
 */
#ifndef PMCBPF_READSHARE_H
#define PMCBPF_READSHARE_H

#include "read_table.h"

struct read_version {
	struct read_table table;
	unsigned int readers;
	struct read_version *older, *newer;	/* versions to be released, in order */
};

struct read_shared {
	struct read_version *current;	/* the newest of the list */
	struct read_version *spare;	/* linked by `older` */
	bool due;			/* a reader has left a retired version behind */
	struct read_version first;
};

#define READ_SHARED_INITIALIZER(shared) { .current = &(shared).first }

/*
 * For readers.  The version in use, which stays as it is until read_share_leave().  When that
 * returns true, retired versions may wait for read_share_reclaim().
 */
static inline struct read_version *read_share_enter(struct read_shared *s, bool *moved)
{
	*moved = __atomic_exchange_n(&s->due, false, __ATOMIC_RELAXED);
	for (;;) {
		struct read_version *v = __atomic_load_n(&s->current, __ATOMIC_SEQ_CST);

		__atomic_add_fetch(&v->readers, 1, __ATOMIC_SEQ_CST);
		if (__builtin_expect(__atomic_load_n(&s->current, __ATOMIC_SEQ_CST) == v, 1))
			return v;
		/* Because of this count its writer may have kept it. */
		__atomic_sub_fetch(&v->readers, 1, __ATOMIC_SEQ_CST);
		*moved = true;
	}
}

static inline bool read_share_leave(struct read_shared *s, struct read_version *v)
{
	__atomic_sub_fetch(&v->readers, 1, __ATOMIC_SEQ_CST);
	return __builtin_expect(__atomic_load_n(&s->current, __ATOMIC_SEQ_CST) != v, 0);
}

/*
 * The same for the only thread of a process: only its signal handlers come between, so that
 * nothing is atomic and nothing is called.  If the version changes meanwhile, enter returns NULL,
 * and leave false; the next read_share_enter() then reports retired versions.
 */
static inline bool read_share_leave_alone(struct read_shared *s, struct read_version *v)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*(volatile unsigned int *)&v->readers -= 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&s->current, __ATOMIC_RELAXED) == v, 1))
		return true;
	__atomic_store_n(&s->due, true, __ATOMIC_RELAXED);
	return false;
}

static inline struct read_version *read_share_enter_alone(struct read_shared *s)
{
	struct read_version *v = __atomic_load_n(&s->current, __ATOMIC_RELAXED);

	*(volatile unsigned int *)&v->readers += 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&s->current, __ATOMIC_RELAXED) == v, 1))
		return v;
	(void)read_share_leave_alone(s, v);
	return NULL;
}

/*
 * For writers, one at a time.  The table of a new version, a copy of the current one, to be changed
 * and published; NULL without memory.
 */
struct read_table *read_share_change(struct read_shared *s);
void read_share_publish(struct read_shared *s, struct read_table *table);

/* Releases the mappings and descriptors of retired versions without readers. */
void read_share_reclaim(struct read_shared *s);

/* Everything at once, with no reader left: in the child after a fork. */
void read_share_reset(struct read_shared *s);

#endif

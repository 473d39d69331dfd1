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
	struct read_version first;
};

#define READ_SHARED_INITIALIZER(shared) { .current = &(shared).first }

/*
 * For readers.  The version in use, which stays as it is until read_share_leave().  When that
 * returns true, retired versions may wait for read_share_reclaim().  With `alone` the process has
 * one thread, and only its signal handlers come between.
 */
static inline struct read_version *read_share_enter(struct read_shared *s, bool alone, bool *moved)
{
	*moved = false;
	for (;;) {
		struct read_version *v = __atomic_load_n(&s->current, __ATOMIC_SEQ_CST);

		if (alone)
			*(volatile unsigned int *)&v->readers += 1;
		else
			__atomic_add_fetch(&v->readers, 1, __ATOMIC_SEQ_CST);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		if (__builtin_expect(__atomic_load_n(&s->current, __ATOMIC_SEQ_CST) == v, 1))
			return v;
		/* Because of this count its writer may have kept it. */
		__atomic_sub_fetch(&v->readers, 1, __ATOMIC_SEQ_CST);
		*moved = true;
	}
}

static inline bool read_share_leave(struct read_shared *s, struct read_version *v, bool alone)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (alone)
		*(volatile unsigned int *)&v->readers -= 1;
	else
		__atomic_sub_fetch(&v->readers, 1, __ATOMIC_SEQ_CST);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return __builtin_expect(__atomic_load_n(&s->current, __ATOMIC_SEQ_CST) != v, 0);
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

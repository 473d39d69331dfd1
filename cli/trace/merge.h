/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All rings as one trace, merged by time.  Equal times are ordered by CPU, then by position, so
 * that both directions give the same order.
 */
#ifndef PMCBPF_CLI_TRACE_MERGE_H
#define PMCBPF_CLI_TRACE_MERGE_H

#include "cursor.h"

enum merge_order { MERGE_NEWEST, MERGE_OLDEST, MERGE_APART /* ring after ring, newest first */ };

/* Time, then cursor.  The greatest key wins; 0: no entry. */
__extension__ typedef unsigned __int128 merge_key;

struct merge {
	enum merge_order order;
	struct cursor *cursors;
	struct item *items;	/* each cursor's next entry */
	/* A tournament tree: each node has the loser of its game, `winner` the overall winner. */
	merge_key *losers, winner;
	size_t ncursors, leaves;
	size_t at;		/* MERGE_APART: the current cursor */
	bool taken;		/* the caller has the winner's entry */
};

/* Merges the rings that `wanted` selects (NULL: all).  0, or -errno. */
int merge_open(struct merge *merge, struct rings *const *rings, size_t nrings,
	       enum merge_order order, bool (*wanted)(void *arg, uint32_t cpu), void *arg);

/* The next entry, valid until the next call; NULL at the end. */
struct item *merge_next(struct merge *merge);

/* Continues after the end with new entries.  0, or -errno of a ring that cannot be read. */
int merge_again(struct merge *merge);
void merge_close(struct merge *merge);

/* Over all cursors: the first error, the number of overwritten entries, the largest skew. */
int merge_error(const struct merge *merge);
uint64_t merge_lost(const struct merge *merge);
uint64_t merge_skew(const struct merge *merge);

#endif

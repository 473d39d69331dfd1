/* SPDX-License-Identifier: BSD-2-Clause */
/* A tournament tree of cursors: see merge.h. */
#include <errno.h>
#include <stdlib.h>

#include "merge.h"

/* Cursors are in the order of their CPUs; oldest first reverses all comparisons. */
static merge_key merge_key_of(const struct merge *m, uint32_t cursor)
{
	uint64_t time = m->items[cursor].time;

	if (m->order == MERGE_OLDEST) {
		time = ~time;
		cursor = ~cursor;
	}
	return (merge_key)time << 33 | 1ull << 32 | cursor;
}

static uint32_t merge_cursor_of(const struct merge *m, merge_key key)
{
	return m->order == MERGE_OLDEST ? ~(uint32_t)key : (uint32_t)key;
}

static bool merge_advance(struct merge *m, uint32_t cursor)
{
	if (m->order == MERGE_OLDEST)
		return cursor_oldest(&m->cursors[cursor], &m->items[cursor]);
	return cursor_newest(&m->cursors[cursor], &m->items[cursor]);
}

static merge_key merge_next_of(struct merge *m, size_t leaf)
{
	return leaf < m->ncursors && merge_advance(m, (uint32_t)leaf) ?
		       merge_key_of(m, (uint32_t)leaf) :
		       0;
}

/* Plays all games below a node; returns the winner. */
static merge_key merge_play(struct merge *m, size_t node)
{
	merge_key left, right;

	if (node >= m->leaves)
		return merge_next_of(m, node - m->leaves);
	left = merge_play(m, 2 * node);
	right = merge_play(m, 2 * node + 1);
	m->losers[node] = left < right ? left : right;
	return left < right ? right : left;
}

/* Replays the last winner's path with its next entry. */
static void merge_replay(struct merge *m)
{
	uint32_t leaf = merge_cursor_of(m, m->winner);
	merge_key key = merge_next_of(m, leaf);

	for (size_t node = (m->leaves + leaf) / 2; node; node /= 2) {
		merge_key loser = m->losers[node];
		bool lost = loser > key;

		m->losers[node] = lost ? key : loser;
		key = lost ? loser : key;
	}
	m->winner = key;
}

static void merge_fill(struct merge *m)
{
	m->at = 0;
	m->taken = false;
	if (m->order != MERGE_APART)
		m->winner = merge_play(m, 1);
}

/* One CPU after another: the cursor's number then decides. */
static int merge_open_cursors(struct merge *m, struct rings *const *rings, size_t nrings,
			      bool (*wanted)(void *arg, uint32_t cpu), void *arg)
{
	for (uint32_t cpu = 0; cpu < KTR_REGION_CPUS; cpu++) {
		for (size_t i = 0; i < nrings; i++) {
			int err;

			if (cpu >= rings[i]->header.ncpu || (wanted && !wanted(arg, cpu)))
				continue;
			err = cursor_open(&m->cursors[m->ncursors], rings[i], cpu);
			if (err)
				return err;
			m->ncursors++;
		}
	}
	return 0;
}

int merge_open(struct merge *m, struct rings *const *rings, size_t nrings, enum merge_order order,
	       bool (*wanted)(void *arg, uint32_t cpu), void *arg)
{
	size_t most = 1;
	int err;

	*m = (struct merge){ .order = order };
	for (size_t i = 0; i < nrings; i++)
		most += rings[i]->header.ncpu;
	m->cursors = calloc(most, sizeof(*m->cursors));
	m->items = calloc(most, sizeof(*m->items));
	for (m->leaves = 1; m->leaves < most;)
		m->leaves *= 2;
	m->losers = calloc(m->leaves, sizeof(*m->losers));
	err = m->cursors && m->items && m->losers ?
		      merge_open_cursors(m, rings, nrings, wanted, arg) :
		      -ENOMEM;
	if (err)
		merge_close(m);
	else
		merge_fill(m);
	return err;
}

struct item *merge_next(struct merge *m)
{
	if (m->order == MERGE_APART) {
		while (m->at < m->ncursors && !merge_advance(m, (uint32_t)m->at))
			m->at++;
		return m->at < m->ncursors ? &m->items[m->at] : NULL;
	}
	if (m->taken)
		merge_replay(m);
	m->taken = m->winner != 0;
	return m->taken ? &m->items[merge_cursor_of(m, m->winner)] : NULL;
}

int merge_again(struct merge *m)
{
	for (size_t i = 0; i < m->ncursors; i++) {
		int err = cursor_again(&m->cursors[i]);

		if (err)
			return err;
	}
	merge_fill(m);
	return 0;
}

void merge_close(struct merge *m)
{
	for (size_t i = 0; i < m->ncursors; i++)
		cursor_close(&m->cursors[i]);
	free(m->cursors);
	free(m->items);
	free(m->losers);
	*m = (struct merge){ 0 };
}

int merge_error(const struct merge *m)
{
	for (size_t i = 0; i < m->ncursors; i++)
		if (m->cursors[i].error)
			return m->cursors[i].error;
	return 0;
}

uint64_t merge_lost(const struct merge *m)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < m->ncursors; i++)
		lost += m->cursors[i].lost;
	return lost;
}

uint64_t merge_skew(const struct merge *m)
{
	uint64_t skew = 0;

	for (size_t i = 0; i < m->ncursors; i++)
		if (m->cursors[i].skew > skew)
			skew = m->cursors[i].skew;
	return skew;
}

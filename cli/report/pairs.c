/* SPDX-License-Identifier: BSD-2-Clause */
/* See pairs.h. */
#include "lib/base/array.h"
#include "pairs.h"

static bool pair_is(const void *arg, uint32_t position)
{
	const struct pairs *pairs = arg;
	const struct number_pair *wanted = &pairs->list[pairs->n], *pair = &pairs->list[position];

	return pair->a == wanted->a && pair->b == wanted->b;
}

uint32_t *pairs_at(struct pairs *pairs, uint64_t a, uint64_t b)
{
	uint32_t hash = index_fold(index_mix(index_mix(0, a), b)), at;

	if (array_reserve(pairs->list, pairs->room, pairs->n + 1) != 0)
		return NULL;
	/* The key, or the new entry. */
	pairs->list[pairs->n] = (struct number_pair){ a, b, 0 };
	at = index_find(&pairs->index, hash, pair_is, pairs);
	if (at != INDEX_NONE)
		return &pairs->list[at].value;
	if (index_add(&pairs->index, hash, (uint32_t)pairs->n) != 0)
		return NULL;
	return &pairs->list[pairs->n++].value;
}

void pairs_free(struct pairs *pairs)
{
	index_free(&pairs->index);
	free(pairs->list);
	*pairs = (struct pairs){ 0 };
}

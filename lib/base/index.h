/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash index of an array: finds the position of an element by its contents.
 *
 * The array is the caller's.  The index stores only a hash and a position for each element, in open
 * addressing with linear probing; the caller's function decides which element is equal, and is
 * inlined into each search.  To add an element: index_find() first, then append it to the array,
 * then index_add() its position.  Single elements are never removed.
 */
#ifndef PMCBPF_LIB_BASE_INDEX_H
#define PMCBPF_LIB_BASE_INDEX_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_NONE UINT32_MAX
#define INDEX_MIN  64u

struct index {
	struct index_slot {
		uint32_t hash;
		uint32_t next;		/* the position, plus one; 0: free */
	} *slots;
	uint32_t size, used;		/* size is a power of 2 */
};

static inline uint64_t index_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/* Two independent chains of products, for parallelism within the CPU. */
static inline uint64_t index_hash(uint64_t seed, const uint64_t *words, size_t n)
{
	uint64_t a = seed ^ n, b = 0xd1b54a32d192ed03u;

	for (; n >= 4; words += 4, n -= 4) {
		unsigned __int128 x = (unsigned __int128)(a ^ words[0]) *
				      (words[1] ^ 0x9e3779b97f4a7c15u);
		unsigned __int128 y = (unsigned __int128)(b ^ words[2]) *
				      (words[3] ^ 0xc2b2ae3d27d4eb4fu);

		a = (uint64_t)x ^ (uint64_t)(x >> 64) ^ words[1];
		b = (uint64_t)y ^ (uint64_t)(y >> 64) ^ words[3];
	}
	while (n--)
		a = index_mix(a, *words++);
	return index_mix(a, b);
}

static inline uint32_t index_fold(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 29);
}

static inline uint64_t index_hash_bytes(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t word, hash = index_mix(seed, len);

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		hash = index_mix(hash, word);
	}
	word = 0;
	if (len)
		memcpy(&word, p, len);
	return index_mix(hash, word);
}

/* The slot of an equal element, or the free slot where it belongs: one is always free. */
static inline struct index_slot *index_slot(const struct index *x, uint32_t hash,
					    bool (*equal)(const void *arg, uint32_t position),
					    const void *arg)
{
	for (uint32_t at = hash;; at++) {
		struct index_slot *slot = &x->slots[at & (x->size - 1)];

		if (!slot->next || (slot->hash == hash && equal(arg, slot->next - 1)))
			return slot;
	}
}

/* The position of an equal element, or INDEX_NONE. */
static inline uint32_t index_find(const struct index *x, uint32_t hash,
				  bool (*equal)(const void *arg, uint32_t position),
				  const void *arg)
{
	return x->size ? index_slot(x, hash, equal, arg)->next - 1 : INDEX_NONE;
}

/* Prefetches the first slot of a search that will follow. */
static inline void index_prefetch(const struct index *x, uint32_t hash)
{
	if (x->size)
		__builtin_prefetch(&x->slots[hash & (x->size - 1)]);
}

/* The position that a search will probably compare with, to prefetch it; or INDEX_NONE. */
static inline uint32_t index_guess(const struct index *x, uint32_t hash)
{
	for (uint32_t at = hash; x->size; at++) {
		const struct index_slot *slot = &x->slots[at & (x->size - 1)];

		if (!slot->next || slot->hash == hash)
			return slot->next - 1;
	}
	return INDEX_NONE;
}

/* Makes room for one more element.  0 or -ENOMEM. */
static inline int index_reserve(struct index *x)
{
	struct index bigger = { .size = x->size ? 2 * x->size : INDEX_MIN, .used = x->used };

	if (3 * (uint64_t)x->used + 3 <= 2 * (uint64_t)x->size)
		return 0;
	bigger.slots = bigger.size ? calloc(bigger.size, sizeof(*bigger.slots)) : NULL;
	if (!bigger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < x->size; i++) {
		uint32_t at = x->slots[i].hash;

		if (!x->slots[i].next)
			continue;
		while (bigger.slots[at & (bigger.size - 1)].next)
			at++;
		bigger.slots[at & (bigger.size - 1)] = x->slots[i];
	}
	free(x->slots);
	*x = bigger;
	return 0;
}

/* Adds an element that index_find() has not found.  0 or -ENOMEM. */
static inline int index_add(struct index *x, uint32_t hash, uint32_t position)
{
	uint32_t at = hash;

	if (index_reserve(x) != 0)
		return -ENOMEM;
	while (x->slots[at & (x->size - 1)].next)
		at++;
	x->slots[at & (x->size - 1)] = (struct index_slot){ hash, position + 1 };
	x->used++;
	return 0;
}

static inline void index_clear(struct index *x)
{
	if (x->size)
		memset(x->slots, 0, x->size * sizeof(*x->slots));
	x->used = 0;
}

static inline void index_free(struct index *x)
{
	free(x->slots);
	*x = (struct index){ 0 };
}

#endif

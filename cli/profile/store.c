/* SPDX-License-Identifier: BSD-2-Clause */
/* See store.h. */
#include "store.h"

#define CHUNK (64u << 10)
#define ALIGN 16u

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
	_Alignas(ALIGN) unsigned char data[];
};

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_chunk *chunk = a->chunks;
	size_t want;

	if (size > SIZE_MAX / 2)
		return NULL;
	want = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!chunk || chunk->size - a->used < want) {
		size_t room = want > CHUNK ? want : CHUNK;

		chunk = calloc(1, sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->size = room;
		chunk->next = a->chunks;
		a->chunks = chunk;
		a->used = 0;
	}
	a->used += want;
	return chunk->data + a->used - want;
}

char *arena_string(struct arena *a, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = arena_alloc(a, size);

	return copy ? memcpy(copy, text, size) : NULL;
}

void arena_free(struct arena *a)
{
	struct arena_chunk *chunk;

	while ((chunk = a->chunks)) {
		a->chunks = chunk->next;
		free(chunk);
	}
	a->used = 0;
}

uint64_t hash_bytes(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t word, h = index_mix(seed, len);

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = index_mix(h, word);
	}
	word = 0;
	if (len)
		memcpy(&word, p, len);
	return index_mix(h, word);
}

struct wanted_item {
	const struct item_table *table;
	table_same *same;
	const void *key;
};

static bool table_is_wanted(const void *arg, uint32_t position)
{
	const struct wanted_item *w = arg;

	return w->same(w->table->items[position], w->key);
}

void *table_find(const struct item_table *t, uint64_t hash, table_same *same, const void *key)
{
	const struct wanted_item wanted = { t, same, key };
	uint32_t at = index_find(&t->index, index_fold(hash), table_is_wanted, &wanted);

	return at == INDEX_NONE ? NULL : t->items[at];
}

int table_add(struct item_table *t, uint64_t hash, void *item)
{
	void **items = grow(t->items, &t->room, t->n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	t->items = items;
	if (index_add(&t->index, index_fold(hash), (uint32_t)t->n) != 0)
		return -ENOMEM;
	items[t->n++] = item;
	return 0;
}

void table_free(struct item_table *t)
{
	index_free(&t->index);
	free(t->items);
	*t = (struct item_table){ 0 };
}

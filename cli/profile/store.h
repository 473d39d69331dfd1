/* SPDX-License-Identifier: BSD-2-Clause */
/* An arena, which is freed as a whole, and a table of items found by their contents. */
#ifndef PMCBPF_CLI_PROFILE_STORE_H
#define PMCBPF_CLI_PROFILE_STORE_H

#include "index.h"

struct arena {
	struct arena_chunk *chunks;
	size_t used;		/* of the first chunk */
};

/* Zeroed, aligned for anything, freed with all others.  NULL: no memory. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_string(struct arena *a, const char *text);
void arena_free(struct arena *a);

/* Items belong to the caller and are not moved. */
struct item_table {
	struct index index;
	void **items;
	size_t n, room;
};

/* Does this item have the key? */
typedef bool table_same(const void *item, const void *key);

void *table_find(const struct item_table *t, uint64_t hash, table_same *same, const void *key);
int table_add(struct item_table *t, uint64_t hash, void *item);	/* 0 or -ENOMEM */
void table_free(struct item_table *t);

uint64_t hash_bytes(uint64_t seed, const void *data, size_t len);

#endif

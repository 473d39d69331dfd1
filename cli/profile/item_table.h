/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of items found by their contents. */
#ifndef PMCBPF_CLI_PROFILE_ITEM_TABLE_H
#define PMCBPF_CLI_PROFILE_ITEM_TABLE_H

#include "lib/base/index.h"

/* Items belong to the caller and are not moved. */
struct item_table {
	struct index index;
	void **items;
	size_t n, room;
};

/* Does this item have the key? */
typedef bool item_table_same(const void *item, const void *key);

void *item_table_find(const struct item_table *t, uint64_t hash, item_table_same *same,
		      const void *key);
int item_table_add(struct item_table *t, uint64_t hash, void *item);	/* 0 or -ENOMEM */
void item_table_free(struct item_table *t);

#endif

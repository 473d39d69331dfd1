/* SPDX-License-Identifier: BSD-2-Clause */
/* See item_table.h. */
#include "lib/base/array.h"
#include "item_table.h"

struct wanted_item {
	const struct item_table *table;
	item_table_same *same;
	const void *key;
};

static bool item_table_is_wanted(const void *arg, uint32_t position)
{
	const struct wanted_item *w = arg;

	return w->same(w->table->items[position], w->key);
}

void *item_table_find(const struct item_table *t, uint64_t hash, item_table_same *same,
		      const void *key)
{
	const struct wanted_item wanted = { t, same, key };
	uint32_t at = index_find(&t->index, index_fold(hash), item_table_is_wanted, &wanted);

	return at == INDEX_NONE ? NULL : t->items[at];
}

int item_table_add(struct item_table *t, uint64_t hash, void *item)
{
	if (array_reserve(t->items, t->room, t->n + 1) != 0)
		return -ENOMEM;
	if (index_add(&t->index, index_fold(hash), (uint32_t)t->n) != 0)
		return -ENOMEM;
	t->items[t->n++] = item;
	return 0;
}

void item_table_free(struct item_table *t)
{
	index_free(&t->index);
	free(t->items);
	*t = (struct item_table){ 0 };
}

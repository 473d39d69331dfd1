/* SPDX-License-Identifier: BSD-2-Clause */
/* See entries.h. */
#include <errno.h>
#include <stdlib.h>

#include "entries.h"
#include "lib/base/array.h"
#include "lib/base/index.h"

int entries_add(struct entries *e, struct entry entry, uint64_t end, uint32_t rank)
{
	int err;

	if (entry.start >= end)
		return 0;
	if (e->n == UINT32_MAX || array_reserve(e->entry, e->room, e->n + 1) != 0)
		return -ENOMEM;
	err = spans_add(&e->spans, (struct span){ entry.start, end, rank, (uint32_t)e->n });
	if (!err)
		e->entry[e->n++] = entry;
	return err;
}

struct entry *entries_find(const struct entries *e, uint64_t address)
{
	const struct span *span = spans_find(&e->spans, address);

	return span ? &e->entry[span->item] : NULL;
}

void entries_free(struct entries *e)
{
	free(e->entry);
	spans_free(&e->spans);
	*e = (struct entries){ 0 };
}

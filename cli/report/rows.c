/* SPDX-License-Identifier: BSD-2-Clause */
/* See rows.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rows.h"

static int row_order(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	if (x->symbol->number != y->symbol->number)
		return x->symbol->number > y->symbol->number ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* Counts the samples of a chain once for an address that occurs several times in it. */
static void rows_add_stack(const struct profile *p, const struct tally *t, uint32_t seen,
			   struct report_row *rows, uint32_t *last)
{
	rows[p->stacks[t->stack].place].self += t->samples;
	for (uint32_t at = t->stack; at != STACK_NONE; at = p->stacks[at].caller) {
		uint32_t place = p->stacks[at].place;

		if (last[place] == seen)
			continue;
		last[place] = seen;
		rows[place].total += t->samples;
	}
}

static int rows_of_addresses(const struct profile *p, uint32_t event, struct report_row **list,
			     size_t *n)
{
	struct report_row *rows = calloc(p->nplaces + 1, sizeof(*rows));
	uint32_t *last = calloc(p->nplaces + 1, sizeof(*last));
	int err = rows && last ? 0 : -ENOMEM;

	*n = 0;
	for (uint32_t i = 0; i < p->ntallies && !err; i++)
		if (walk_event(p->walk, p->tallies[i].event)->first == event)
			rows_add_stack(p, &p->tallies[i], i + 1, rows, last);
	for (size_t i = 0; i < p->nplaces && !err; i++) {
		struct report_row row = rows[i];

		if (!row.total)
			continue;
		row.symbol = symbols_function(p->symbols, &p->places[i]);
		if (!row.symbol)
			err = -ENOMEM;
		else
			row.offset = p->places[i].offset - row.symbol->start;
		rows[(*n)++] = row;
	}
	free(last);
	if (err) {
		free(rows);
		return err;
	}
	qsort(rows, *n, sizeof(*rows), row_order);
	*list = rows;
	return 0;
}

static int rows_of_functions(const struct profile *p, uint32_t event, struct report_row **list,
			     size_t *n)
{
	const struct tree_select select = { .event = event, .process = TREE_ANY, .inlines = true };
	struct tree_function *sums = NULL;
	int err = tree_functions(p, &select, &sums, n);

	if (err)
		return err;
	*list = calloc(*n + 1, sizeof(**list));
	for (size_t i = 0; *list && i < *n; i++)
		(*list)[i] = (struct report_row){ sums[i].symbol, 0, sums[i].self, sums[i].total };
	free(sums);
	return *list ? 0 : -ENOMEM;
}

int rows_of(const struct profile *p, uint32_t event, bool apart, struct report_row **rows,
	    size_t *n)
{
	return apart ? rows_of_addresses(p, event, rows, n) : rows_of_functions(p, event, rows, n);
}

char *row_text(const struct report_row *row, bool apart)
{
	char room[24];
	const char *name = symbol_text(row->symbol, room);
	char *text = NULL;

	if (!apart || !row->symbol->name || symbol_is_cut(row->symbol))
		return strdup(name);
	return asprintf(&text, "%s+0x%" PRIx64, name, row->offset) < 0 ? NULL : text;
}

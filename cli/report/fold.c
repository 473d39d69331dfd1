/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks merged into a tree: see fold.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "fold.h"
#include "pairs.h"

struct builder {
	struct folds *folds;
	struct pairs index;	/* (parent, name or symbol) → node */
	struct chain chain;
	const char **names;	/* by process number; equal names are one pointer */
	size_t nnames;
	bool by_event;
};

static int text_order(const void *a, const void *b)
{
	return strcmp(**(const char **const *)a, **(const char **const *)b);
}

/* Gives equal names one pointer, by sorting. */
static int folds_unify_names(struct builder *b, const struct walk *w)
{
	const char ***order = NULL;

	while (walk_process(w, (uint32_t)b->nnames))
		b->nnames++;
	b->names = calloc(b->nnames + 1, sizeof(*b->names));
	order = calloc(b->nnames + 1, sizeof(*order));
	if (!b->names || !order) {
		free(order);
		return -ENOMEM;
	}
	for (size_t i = 0; i < b->nnames; i++) {
		b->names[i] = walk_process(w, (uint32_t)i)->name;
		order[i] = &b->names[i];
	}
	qsort(order, b->nnames, sizeof(*order), text_order);
	for (size_t i = 1; i < b->nnames; i++)
		if (strcmp(*order[i], *order[i - 1]) == 0)
			*order[i] = *order[i - 1];
	free(order);
	return 0;
}

static int folds_add(struct folds *f, uint32_t parent, const struct fold *fold)
{
	if (array_reserve(f->nodes, f->room, f->n + 1) != 0)
		return -ENOMEM;
	f->nodes[f->n] = *fold;
	f->nodes[f->n].parent = parent;
	f->nodes[f->n].depth = f->n == FOLD_ROOT ? 0 : f->nodes[parent].depth + 1;
	f->n++;
	return 0;
}

/* Goes from a node to its child, and adds `samples` there. */
static int folds_descend(struct builder *b, uint32_t *node, const struct fold *fold,
			 uint64_t samples)
{
	const void *key = fold->name ? (const void *)fold->name : fold->symbol;
	uint32_t *known = pairs_at(&b->index, *node, (uintptr_t)key);

	if (!known)
		return -ENOMEM;
	if (!*known) {
		if (folds_add(b->folds, *node, fold) < 0)
			return -ENOMEM;
		*known = (uint32_t)(b->folds->n - 1);
	}
	*node = *known;
	b->folds->nodes[*node].total += samples;
	return 0;
}

static int folds_add_tally(struct builder *b, const struct profile *p, const struct tally *t)
{
	const struct fold event = {
		.name = walk_event(p->walk, event_first(p, t->event))->name, .kind = KIND_PROCESS,
	};
	const struct fold process = { .name = b->names[t->process], .kind = KIND_PROCESS };
	uint32_t node = FOLD_ROOT;
	int err = chain_fill(&b->chain, p, t->stack);

	if (!err && b->by_event)
		err = folds_descend(b, &node, &event, t->samples);
	if (!err)
		err = folds_descend(b, &node, &process, t->samples);
	for (size_t i = 0; !err && i < b->chain.n; i++) {
		const struct symbol *symbol = b->chain.links[i].frame->symbol;
		const struct fold function = { .symbol = symbol, .kind = frame_kind(symbol) };

		err = folds_descend(b, &node, &function, t->samples);
	}
	b->folds->nodes[node].self += t->samples;
	b->folds->nodes[FOLD_ROOT].total += t->samples;
	return err;
}

static const char *folds_plain_name(const struct fold *fold, char room[static 24])
{
	return fold->name ? fold->name : symbol_text(fold->symbol, room);
}

/* By parent, then by name; without a name, or with equal names, by address, then by appearance. */
static int fold_order(const void *a, const void *b, void *folds)
{
	uint32_t m = *(const uint32_t *)a, n = *(const uint32_t *)b;
	const struct fold *f = ((struct folds *)folds)->nodes, *x = &f[m], *y = &f[n];
	char room[2][24];
	int order;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	order = strcmp(folds_plain_name(x, room[0]), folds_plain_name(y, room[1]));
	return order ? order : m < n ? -1 : 1;
}

static int folds_link(struct folds *f)
{
	uint32_t *order = calloc(f->n + 1, sizeof(*order));

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < f->n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order + 1, f->n - 1, sizeof(*order), fold_order, f);
	for (size_t i = f->n - 1; i > 0; i--) {
		struct fold *fold = &f->nodes[order[i]], *parent = &f->nodes[fold->parent];

		fold->next = parent->child;
		parent->child = order[i];
	}
	free(order);
	return 0;
}

int folds_build(struct folds *f, const struct report *r)
{
	const struct profile *p = r->profile;
	struct builder b = { .folds = f, .by_event = event_count(p) > 1 };
	const struct fold root = { .name = "all", .kind = KIND_PROCESS };
	int err = folds_unify_names(&b, p->walk);

	*f = (struct folds){ 0 };
	if (!err)
		err = folds_add(f, FOLD_ROOT, &root);
	for (size_t i = 0; !err && i < p->ntallies; i++)
		if (p->tallies[i].samples > 0)
			err = folds_add_tally(&b, p, &p->tallies[i]);
	if (!err)
		err = folds_link(f);
	free(b.names);
	pairs_free(&b.index);
	chain_free(&b.chain);
	return err;
}

void folds_free(struct folds *f)
{
	free(f->nodes);
	*f = (struct folds){ 0 };
}

void fold_label(struct buf *out, const struct fold *fold)
{
	if (fold->name)
		buf_printf(out, "%s", fold->name);
	else
		frame_label(out, fold->symbol);
}

uint32_t fold_next(const struct folds *f, uint32_t node)
{
	if (f->nodes[node].child)
		return f->nodes[node].child;
	while (node != FOLD_ROOT && !f->nodes[node].next)
		node = f->nodes[node].parent;
	return f->nodes[node].next;
}

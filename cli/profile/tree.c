/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks of addresses as stacks of functions: see tree.h. */
#include "lib/base/array.h"
#include "profile.h"

/* The input of lists and trees: the samples of each stack, the functions of each place. */
struct tree_source {
	const struct profile *p;
	uint64_t *samples;		/* of each stack, by the selection */
	struct functions {
		const struct symbol *one;
		const struct frame *frames;	/* several, inlined ones first; else NULL */
		size_t n;
	} *places;
	uint32_t nsymbols;
};

static bool tally_selected(const struct profile *p, const struct tree_select *s,
			   const struct tally *t)
{
	if (s->process != TREE_ANY && s->process != t->process)
		return false;
	if (s->event == TREE_ANY || s->event == t->event)
		return true;
	return !s->apart && walk_event(p->walk, s->event)->first ==
				    walk_event(p->walk, t->event)->first;
}

static int source_functions(struct tree_source *src, uint32_t place, bool inlines)
{
	struct functions *f = &src->places[place];
	const struct profile *p = src->p;

	if (f->n)
		return 0;
	f->n = 1;
	if (inlines) {
		f->frames = symbols_frames(p->symbols, &p->places[place], &f->n);
		f->one = f->frames ? f->frames[0].symbol : NULL;
	} else {
		f->one = symbols_function(p->symbols, &p->places[place]);
	}
	if (!f->one)
		return -ENOMEM;
	for (size_t i = 0; i < f->n; i++) {
		uint32_t number = (f->frames ? f->frames[i].symbol : f->one)->number;

		if (number >= src->nsymbols)
			src->nsymbols = number + 1;
	}
	return 0;
}

static const struct symbol *functions_at(const struct functions *f, size_t i)
{
	return f->frames ? f->frames[i].symbol : f->one;
}

static void tree_source_end(struct tree_source *src)
{
	free(src->samples);
	free(src->places);
}

static int tree_source_begin(struct tree_source *src, const struct profile *p,
			     const struct tree_select *s)
{
	int err = 0;

	*src = (struct tree_source){ .p = p };
	src->samples = calloc(p->nstacks, sizeof(*src->samples));
	src->places = calloc(p->nplaces + 1, sizeof(*src->places));
	if (!src->samples || !src->places)
		return -ENOMEM;
	for (size_t i = 0; i < p->ntallies; i++)
		if (tally_selected(p, s, &p->tallies[i]))
			src->samples[p->tallies[i].stack] += p->tallies[i].samples;
	for (uint32_t i = 1; i < p->nstacks && !err; i++)
		for (uint32_t at = i; src->samples[i] && at != STACK_NONE && !err;
		     at = p->stacks[at].caller)
			err = source_functions(src, p->stacks[at].place, s->inlines);
	return err;
}

static int symbol_order(const struct symbol *a, const struct symbol *b)
{
	char room[2][24];
	int order = strcmp(symbol_text(a, room[0]), symbol_text(b, room[1]));

	return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* --- lists ----------------------------------------------------------------------------------- */

static int tree_function_order(const void *a, const void *b)
{
	const struct tree_function *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return symbol_order(x->symbol, y->symbol);
}

/* A function that is in the chain several times gets its samples once: `last` marks it. */
static void source_add_stack(const struct tree_source *src, uint32_t stack,
			     struct tree_function *sum, uint32_t *last)
{
	const struct profile *p = src->p;

	for (uint32_t at = stack; at != STACK_NONE; at = p->stacks[at].caller) {
		const struct functions *f = &src->places[p->stacks[at].place];

		for (size_t i = 0; i < f->n; i++) {
			const struct symbol *symbol = functions_at(f, i);
			struct tree_function *one = &sum[symbol->number];

			if (at == stack && !i)
				one->self += src->samples[stack];
			if (last[symbol->number] == stack)
				continue;
			last[symbol->number] = stack;
			one->symbol = symbol;
			one->total += src->samples[stack];
		}
	}
}

int tree_functions(const struct profile *p, const struct tree_select *select,
		   struct tree_function **list, size_t *n)
{
	struct tree_function *sum = NULL;
	uint32_t *last = NULL;
	struct tree_source src;
	int err = tree_source_begin(&src, p, select);

	if (!err) {
		sum = calloc((size_t)src.nsymbols + 1, sizeof(*sum));
		last = calloc((size_t)src.nsymbols + 1, sizeof(*last));
		err = sum && last ? 0 : -ENOMEM;
	}
	for (uint32_t i = 1; i < p->nstacks && !err; i++)
		if (src.samples[i])
			source_add_stack(&src, i, sum, last);
	*n = 0;
	for (uint32_t i = 0; i < src.nsymbols && !err; i++)
		if (sum[i].symbol)
			sum[(*n)++] = sum[i];
	if (*n)
		qsort(sum, *n, sizeof(*sum), tree_function_order);
	tree_source_end(&src);
	free(last);
	if (err)
		free(sum);
	else
		*list = sum;
	return err;
}

/* --- trees ----------------------------------------------------------------------------------- */

struct branch {
	uint32_t parent;
	uint32_t nchild;
	const struct symbol *symbol;
	uint64_t total, self;
};

/* A tree in the making; branches[0] is its root, and a branch comes behind its parent. */
struct growth {
	const struct tree_select *select;
	struct branch *branches;
	size_t n, size;
	struct index index;
};

struct wanted_branch {
	const struct growth *g;
	uint32_t parent;
	const struct symbol *symbol;
};

static bool branch_is(const void *arg, uint32_t i)
{
	const struct wanted_branch *w = arg;
	const struct branch *b = &w->g->branches[i];

	return b->parent == w->parent && b->symbol == w->symbol;
}

/* The parent's branch of this function.  INDEX_NONE: no memory. */
static uint32_t growth_branch(struct growth *g, uint32_t parent, const struct symbol *symbol)
{
	const struct wanted_branch wanted = { g, parent, symbol };
	uint64_t key = symbol ? (uint64_t)parent << 32 | symbol->number : UINT64_MAX;
	uint32_t hash = index_fold(index_mix(0, key));
	uint32_t at = index_find(&g->index, hash, branch_is, &wanted);

	if (at != INDEX_NONE)
		return at;
	if (array_reserve(g->branches, g->size, g->n + 1) != 0)
		return INDEX_NONE;
	g->branches[g->n] = (struct branch){ .parent = parent, .symbol = symbol };
	if (index_add(&g->index, hash, (uint32_t)g->n) != 0)
		return INDEX_NONE;
	if (g->n)
		g->branches[parent].nchild++;
	return (uint32_t)g->n++;
}

/* Goes down one level for each function of a place; `callees`: outermost first. */
static uint32_t growth_descend(struct growth *g, uint32_t at, const struct functions *f,
			       bool callees, uint64_t samples, unsigned int *levels)
{
	for (size_t i = 0; i < f->n && at != INDEX_NONE; i++) {
		if (g->select->depth && *levels >= g->select->depth)
			return at;
		at = growth_branch(g, at, functions_at(f, callees ? f->n - 1 - i : i));
		if (at != INDEX_NONE)
			g->branches[at].total += samples;
		++*levels;
	}
	return at;
}

static int growth_add_stack(struct growth *g, const struct tree_source *src, uint32_t stack,
			    bool callees)
{
	uint32_t path[STACK_DEPTH_MAX], at = 0;
	const struct profile *p = src->p;
	unsigned int levels = 0, n = 0, functions = 0;

	for (uint32_t s = stack; s != STACK_NONE && n < STACK_DEPTH_MAX;
	     s = p->stacks[s].caller) {
		path[n++] = p->stacks[s].place;
		functions += (unsigned int)src->places[p->stacks[s].place].n;
	}
	g->branches[0].total += src->samples[stack];
	for (unsigned int i = 0; i < n && at != INDEX_NONE; i++)
		at = growth_descend(g, at, &src->places[path[callees ? n - 1 - i : i]], callees,
				    src->samples[stack], &levels);
	if (at == INDEX_NONE)
		return -ENOMEM;
	if (levels == functions)
		g->branches[at].self += src->samples[stack];
	return 0;
}

static int tree_node_order(const void *a, const void *b)
{
	const struct tree_node *x = *(struct tree_node *const *)a;
	const struct tree_node *y = *(struct tree_node *const *)b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return symbol_order(x->symbol, y->symbol);
}

/* One allocation: all nodes, then all lists of children. */
static struct tree_node *growth_tree(const struct growth *g)
{
	struct tree_node *nodes = calloc(g->n, sizeof(*nodes) + sizeof(*nodes->child));
	struct tree_node **child;

	if (!nodes)
		return NULL;
	child = (struct tree_node **)(nodes + g->n);
	for (size_t i = 0; i < g->n; i++) {
		const struct branch *b = &g->branches[i];
		struct tree_node *parent = &nodes[b->parent];

		nodes[i] = (struct tree_node){ b->symbol, b->total, b->self, child, 0 };
		child += b->nchild;
		if (i)
			parent->child[parent->nchild++] = &nodes[i];
	}
	for (size_t i = 0; i < g->n; i++)
		if (nodes[i].nchild > 1)
			qsort(nodes[i].child, nodes[i].nchild, sizeof(*nodes[i].child),
			      tree_node_order);
	return nodes;
}

struct tree_node *tree_build(const struct profile *p, const struct tree_select *select,
			     enum tree_order order)
{
	struct growth g = { .select = select };
	struct tree_node *root = NULL;
	struct tree_source src;
	int err = tree_source_begin(&src, p, select);

	if (!err && growth_branch(&g, 0, NULL) == INDEX_NONE)
		err = -ENOMEM;
	for (uint32_t i = 1; i < p->nstacks && !err; i++)
		if (src.samples[i])
			err = growth_add_stack(&g, &src, i, order == TREE_CALLEES);
	if (!err)
		root = growth_tree(&g);
	tree_source_end(&src);
	free(g.branches);
	index_free(&g.index);
	return root;
}

void tree_free(struct tree_node *root)
{
	free(root);
}

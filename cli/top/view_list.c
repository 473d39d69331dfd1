/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views that are lists: what has the samples on the left, and to the right of it what they come
 * from: a function's callers, the functions of a process or thread.  Each sample is a pair of both;
 * sorted pairs are rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/index.h"
#include "view.h"

#define NAME_MAX_LEN 256u

/*
 * A key of functions is the address of the symbol, or the number of the place where addresses or
 * offsets are to be seen; of processes and threads the process's number and the thread's.
 */
struct pair {
	uint64_t left, right;
	uint64_t samples;
};
#define KEY_NONE 0u

struct row {
	uint64_t left, samples;
	struct pair *pairs;
	size_t npairs;
};

struct list {
	struct view *view;
	const struct profile *profile;	/* the view's */
	const struct look *look;
	struct pair *pairs;
	struct row *rows;
	size_t npairs, size, nrows;
};

/* --- names ------------------------------------------------------------------------------------ */

static bool by_place(const struct list *l)
{
	return l->look->addresses || l->look->offsets;
}

static uint64_t function_key(struct list *l, uint32_t stack)
{
	uint32_t place = l->profile->stacks[stack].place;

	return by_place(l) ? place + 1ull : (uintptr_t)view_symbol(l->view, place);
}

static const struct symbol *key_symbol(struct list *l, uint64_t key)
{
	return by_place(l) ? view_symbol(l->view, (uint32_t)(key - 1)) :
			     (const struct symbol *)(uintptr_t)key;
}

static const char *function_name(struct list *l, uint64_t key, char room[static NAME_MAX_LEN])
{
	const struct symbol *symbol = key_symbol(l, key);
	const struct place *place;

	if (!by_place(l))
		return symbol_text(symbol, room);
	place = &l->profile->places[key - 1];
	if (symbol->name && !l->look->addresses)
		snprintf(room, NAME_MAX_LEN, "%.*s+0x%" PRIx64, NAME_MAX_LEN - 24, symbol->name,
			 place->offset - symbol->start);
	else
		snprintf(room, NAME_MAX_LEN, "0x%" PRIx64, place->image ?
			 image_address(l->profile->symbols, place->image, place->offset) :
			 place->offset);
	return room;
}

static const char *image_name(const struct symbol *symbol)
{
	if (!symbol->image)
		return "[unknown]";
	if (strcmp(symbol->image->name, "[kernel.kallsyms]") == 0 ||
	    strcmp(symbol->image->name, SYMBOLS_HIDDEN) == 0)
		return "kernel";
	return symbol->image->name;
}

static const struct walk_process *key_process(const struct list *l, uint64_t key)
{
	return walk_process(l->profile->walk, (uint32_t)(key >> 32));
}

static const char *thread_name(const struct list *l, uint64_t key)
{
	const struct walk_thread *thread = walk_thread(l->profile->walk, (pid_t)(uint32_t)key);

	return thread && thread->name ? thread->name : "";
}

/* What rows are sorted by where their samples are equal. */
static const char *left_name(struct list *l, uint64_t key, char room[static NAME_MAX_LEN])
{
	if (l->look->kind == VIEW_CALLERS)
		return function_name(l, key, room);
	return l->look->kind == VIEW_THREADS ? thread_name(l, key) : key_process(l, key)->name;
}

/* Has it the text that is looked for? */
static bool wanted(struct list *l, uint64_t key)
{
	char room[NAME_MAX_LEN];

	if (strcasestr(left_name(l, key, room), l->look->only))
		return true;
	return strcasestr(l->look->kind == VIEW_CALLERS ? image_name(key_symbol(l, key)) :
			  key_process(l, key)->name, l->look->only);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static int add_pair(struct list *l, uint64_t left, uint64_t right, uint64_t samples)
{
	struct pair *pairs = grow(l->pairs, &l->size, l->npairs + 1, sizeof(*pairs));

	if (!pairs)
		return -ENOMEM;
	l->pairs = pairs;
	pairs[l->npairs++] = (struct pair){ left, right, samples };
	return 0;
}

/* Is the function of this frame also further in?  Then the sample has been counted for it. */
static bool recursive(struct list *l, uint32_t innermost, uint32_t stack, uint64_t key)
{
	for (uint32_t s = innermost; s != stack; s = l->profile->stacks[s].caller) {
		if (function_key(l, s) == key)
			return true;
	}
	return false;
}

static int add_function(struct list *l, const struct tally *t)
{
	int err = 0;

	for (uint32_t s = t->stack, caller; s != STACK_NONE && !err; s = caller) {
		uint64_t key = function_key(l, s);

		caller = l->profile->stacks[s].caller;
		if (!recursive(l, t->stack, s, key))
			err = add_pair(l, key, caller == STACK_NONE ? KEY_NONE :
				       function_key(l, caller), t->samples);
		if (!l->look->total)
			break;
	}
	return err;
}

static int collect(struct list *l)
{
	int err = 0;

	for (size_t i = 0; i < l->profile->ntallies && !err; i++) {
		const struct tally *t = &l->profile->tallies[i];
		uint64_t owner = (uint64_t)t->process << 32;

		if (!view_counts(l->view, t))
			continue;
		if (l->look->kind == VIEW_CALLERS)
			err = add_function(l, t);
		else if (l->look->kind == VIEW_PROCESSES)
			err = add_pair(l, owner, function_key(l, t->stack), t->samples);
		else
			err = add_pair(l, owner | (uint32_t)t->tid, function_key(l, t->stack),
				       t->samples);
	}
	return err;
}

static int order_keys(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;

	if (x->left != y->left)
		return x->left < y->left ? -1 : 1;
	return x->right < y->right ? -1 : x->right > y->right;
}

static int order_pairs(const void *a, const void *b, void *arg)
{
	const struct pair *x = a, *y = b;
	char xroom[NAME_MAX_LEN], yroom[NAME_MAX_LEN];

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return strcmp(function_name(arg, x->right, xroom), function_name(arg, y->right, yroom));
}

static int order_rows(const void *a, const void *b, void *arg)
{
	const struct row *x = a, *y = b;
	char xroom[NAME_MAX_LEN], yroom[NAME_MAX_LEN];
	int order;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	order = strcmp(left_name(arg, x->left, xroom), left_name(arg, y->left, yroom));
	return order ? order : x->left < y->left ? -1 : 1;
}

/* Equal pairs become one, pairs with the same left side a row. */
static int make_rows(struct list *l)
{
	struct row *row = NULL;
	struct pair *last = NULL;

	l->rows = calloc(l->npairs + 1, sizeof(*l->rows));
	if (!l->rows)
		return -ENOMEM;
	if (l->npairs)
		qsort(l->pairs, l->npairs, sizeof(*l->pairs), order_keys);
	for (size_t i = 0; i < l->npairs; i++) {
		const struct pair pair = l->pairs[i];

		if (!row || row->left != pair.left) {
			row = &l->rows[l->nrows++];
			*row = (struct row){ .left = pair.left, .pairs = &l->pairs[i] };
			last = NULL;
		}
		row->samples += pair.samples;
		if (last && last->right == pair.right) {
			last->samples += pair.samples;
		} else {
			last = &row->pairs[row->npairs++];
			*last = pair;
		}
	}
	return 0;
}

/* Only what is shown is put in order: most of a list is below the threshold. */
static void drop_rows(struct list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->nrows; i++) {
		const struct row row = l->rows[i];

		if (percent(row.samples, l->view->samples) >= l->look->threshold &&
		    wanted(l, row.left))
			l->rows[n++] = row;
	}
	l->nrows = n;
	qsort_r(l->rows, n, sizeof(*l->rows), order_rows, l);
}

static void drop_pairs(struct list *l, struct row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < row->npairs; i++) {
		const struct pair pair = row->pairs[i];

		if (pair.right != KEY_NONE &&
		    percent(pair.samples, row->samples) >= l->look->threshold)
			row->pairs[n++] = pair;
	}
	row->npairs = n;
	qsort_r(row->pairs, n, sizeof(*row->pairs), order_pairs, l);
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void draw_header(const struct list *l, struct picture *p)
{
	picture_text(p, "%SAMP ");
	if (l->look->kind == VIEW_CALLERS) {
		picture_field(p, "IMAGE", 10);
		picture_skip(p, 1);
		picture_field(p, l->look->total ? "FUNCTION+CALLEES" : "FUNCTION", 20);
		picture_text(p, " CALLERS");
		return;
	}
	picture_text(p, l->look->kind == VIEW_THREADS ? "    TID " : "    PID ");
	if (l->look->kind == VIEW_THREADS) {
		picture_field(p, "THREAD", 15);
		picture_skip(p, 1);
	}
	picture_field(p, "PROCESS", 15);
	picture_text(p, " FUNCTIONS");
}

static void draw_left(struct list *l, uint64_t key, struct picture *p)
{
	const struct walk_process *process;
	char room[NAME_MAX_LEN];

	picture_skip(p, 1);
	if (l->look->kind == VIEW_CALLERS) {
		picture_field(p, image_name(key_symbol(l, key)), 10);
		picture_skip(p, 1);
		picture_field(p, function_name(l, key, room), 20);
		return;
	}
	process = key_process(l, key);
	if (l->look->kind == VIEW_THREADS) {
		picture_printf(p, "%7" PRIu32 " ", (uint32_t)key);
		picture_field(p, thread_name(l, key), 15);
		picture_skip(p, 1);
	} else {
		picture_printf(p, "%7d ", (int)process->pid);
	}
	picture_field(p, process->name, 15);
}

/* As many as fit; half a name would be another name. */
static void draw_right(struct list *l, struct row *row, struct picture *p)
{
	drop_pairs(l, row);
	for (size_t i = 0; i < row->npairs; i++) {
		const struct pair *pair = &row->pairs[i];
		char room[NAME_MAX_LEN];
		const char *name = function_name(l, pair->right, room);

		if (p->col + picture_width(name) + sizeof(" :100.0") - 1 > p->cols)
			break;
		picture_skip(p, 1);
		picture_text(p, name);
		picture_share(p, percent(pair->samples, row->samples), ":%.1f");
	}
}

static void draw(struct list *l, struct picture *p)
{
	draw_header(l, p);
	for (size_t i = 0; i < l->nrows; i++) {
		struct row *row = &l->rows[i];

		if (!picture_line(p))
			return;
		picture_share(p, percent(row->samples, l->view->samples), "%5.1f");
		draw_left(l, row->left, p);
		draw_right(l, row, p);
	}
	picture_line(p);
}

int view_list(struct view *v, struct picture *p)
{
	struct list l = { .view = v, .profile = v->profile, .look = v->look };
	int err = collect(&l);

	if (!err)
		err = make_rows(&l);
	if (!err) {
		drop_rows(&l);
		draw(&l, p);
	}
	free(l.rows);
	free(l.pairs);
	return err;
}

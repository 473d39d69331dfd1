/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views that are lists.  A row has a function, a process or a thread on its left, and on its right
 * where its samples come from: the function's callers, or the functions of the process or thread.
 * Samples are collected as pairs of a left and a right key; sorted pairs make the rows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/profile/profile.h"
#include "view.h"

#define NAME_MAX_LEN 256u

/*
 * The key of a function is the address of its struct symbol, or if addresses or offsets are shown,
 * the number of the place plus 1.  The key of a process or thread has the process's number in its
 * upper half and the thread's id in its lower half.
 */
struct list_pair {
	uint64_t left, right;
	uint64_t samples;
};
#define KEY_NONE 0u

struct list_row {
	uint64_t left, samples;
	struct list_pair *pairs;
	size_t npairs;
};

struct view_list {
	struct view *view;
	const struct profile *profile;	/* the view's */
	const struct look *look;
	struct list_pair *pairs;
	struct list_row *rows;
	size_t npairs, size, nrows;
};

/* --- names ------------------------------------------------------------------------------------ */

static bool list_by_place(const struct view_list *l)
{
	return l->look->addresses || l->look->offsets;
}

static uint64_t list_function_key(struct view_list *l, uint32_t stack)
{
	uint32_t place = l->profile->stacks[stack].place;

	return list_by_place(l) ? place + 1ull : (uintptr_t)view_symbol(l->view, place);
}

static const struct symbol *list_key_symbol(struct view_list *l, uint64_t key)
{
	return list_by_place(l) ? view_symbol(l->view, (uint32_t)(key - 1)) :
			     (const struct symbol *)(uintptr_t)key;
}

static const char *list_function_name(struct view_list *l, uint64_t key,
				      char room[static NAME_MAX_LEN])
{
	const struct symbol *symbol = list_key_symbol(l, key);
	const struct place *place;

	if (!list_by_place(l))
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

static const char *symbol_image_name(const struct symbol *symbol)
{
	if (!symbol->image)
		return symbol_is_cut(symbol) ? "" : "[unknown]";
	if (strcmp(symbol->image->name, "[kernel.kallsyms]") == 0 ||
	    strcmp(symbol->image->name, SYMBOLS_HIDDEN) == 0)
		return "kernel";
	return symbol->image->name;
}

static const struct walk_process *list_key_process(const struct view_list *l, uint64_t key)
{
	return walk_process(l->profile->walk, (uint32_t)(key >> 32));
}

static const char *list_thread_name(const struct view_list *l, uint64_t key)
{
	const struct walk_thread *thread = walk_thread(l->profile->walk, (pid_t)(uint32_t)key);

	return thread && thread->name ? thread->name : "";
}

/* Rows with as many samples are sorted by this name. */
static const char *list_left_name(struct view_list *l, uint64_t key, char room[static NAME_MAX_LEN])
{
	if (l->look->kind == VIEW_CALLERS)
		return list_function_name(l, key, room);
	return l->look->kind == VIEW_THREADS ? list_thread_name(l, key) :
					       list_key_process(l, key)->name;
}

/* Does the row have the text that is searched for? */
static bool list_has_text(struct view_list *l, uint64_t key)
{
	char room[NAME_MAX_LEN];

	if (strcasestr(list_left_name(l, key, room), l->look->only))
		return true;
	return strcasestr(l->look->kind == VIEW_CALLERS ?
			  symbol_image_name(list_key_symbol(l, key)) :
			  list_key_process(l, key)->name, l->look->only);
}

/* --- pairs ------------------------------------------------------------------------------------ */

static int list_add_pair(struct view_list *l, uint64_t left, uint64_t right, uint64_t samples)
{
	if (array_reserve(l->pairs, l->size, l->npairs + 1) != 0)
		return -ENOMEM;
	l->pairs[l->npairs++] = (struct list_pair){ left, right, samples };
	return 0;
}

/* Is the function also in an inner frame?  Then the sample has been counted for it. */
static bool list_is_recursive(struct view_list *l, uint32_t innermost, uint32_t stack, uint64_t key)
{
	for (uint32_t s = innermost; s != stack; s = l->profile->stacks[s].caller) {
		if (list_function_key(l, s) == key)
			return true;
	}
	return false;
}

static int list_add_function(struct view_list *l, const struct tally *t)
{
	int err = 0;

	for (uint32_t s = t->stack, caller; s != STACK_NONE && !err; s = caller) {
		uint64_t key = list_function_key(l, s);

		caller = l->profile->stacks[s].caller;
		if (!list_is_recursive(l, t->stack, s, key))
			err = list_add_pair(l, key, caller == STACK_NONE ? KEY_NONE :
					    list_function_key(l, caller), t->samples);
		if (!l->look->total)
			break;
	}
	return err;
}

static int list_collect(struct view_list *l)
{
	int err = 0;

	for (size_t i = 0; i < l->profile->ntallies && !err; i++) {
		const struct tally *t = &l->profile->tallies[i];
		uint64_t owner = (uint64_t)t->process << 32;

		if (!view_counts(l->view, t))
			continue;
		if (l->look->kind == VIEW_CALLERS)
			err = list_add_function(l, t);
		else if (l->look->kind == VIEW_PROCESSES)
			err = list_add_pair(l, owner, list_function_key(l, t->stack), t->samples);
		else
			err = list_add_pair(l, owner | (uint32_t)t->tid,
					    list_function_key(l, t->stack),
					    t->samples);
	}
	return err;
}

static int pair_order_keys(const void *a, const void *b)
{
	const struct list_pair *x = a, *y = b;

	if (x->left != y->left)
		return x->left < y->left ? -1 : 1;
	return x->right < y->right ? -1 : x->right > y->right;
}

static int pair_order_samples(const void *a, const void *b, void *arg)
{
	const struct list_pair *x = a, *y = b;
	char xroom[NAME_MAX_LEN], yroom[NAME_MAX_LEN];

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return strcmp(list_function_name(arg, x->right, xroom),
		      list_function_name(arg, y->right, yroom));
}

static int view_row_order(const void *a, const void *b, void *arg)
{
	const struct list_row *x = a, *y = b;
	char xroom[NAME_MAX_LEN], yroom[NAME_MAX_LEN];
	int order;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	order = strcmp(list_left_name(arg, x->left, xroom), list_left_name(arg, y->left, yroom));
	return order ? order : x->left < y->left ? -1 : 1;
}

/* Merges equal pairs, and makes a row of all pairs with the same left key. */
static int list_make_rows(struct view_list *l)
{
	struct list_row *row = NULL;
	struct list_pair *last = NULL;

	l->rows = calloc(l->npairs + 1, sizeof(*l->rows));
	if (!l->rows)
		return -ENOMEM;
	if (l->npairs)
		qsort(l->pairs, l->npairs, sizeof(*l->pairs), pair_order_keys);
	for (size_t i = 0; i < l->npairs; i++) {
		const struct list_pair pair = l->pairs[i];

		if (!row || row->left != pair.left) {
			row = &l->rows[l->nrows++];
			*row = (struct list_row){ .left = pair.left, .pairs = &l->pairs[i] };
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

/* Drops rows that are not shown, usually most of them, and sorts the rest. */
static void list_drop_rows(struct view_list *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->nrows; i++) {
		const struct list_row row = l->rows[i];

		if (percent(row.samples, l->view->samples) >= l->look->threshold &&
		    list_has_text(l, row.left))
			l->rows[n++] = row;
	}
	l->nrows = n;
	qsort_r(l->rows, n, sizeof(*l->rows), view_row_order, l);
}

static void list_drop_pairs(struct view_list *l, struct list_row *row)
{
	size_t n = 0;

	for (size_t i = 0; i < row->npairs; i++) {
		const struct list_pair pair = row->pairs[i];

		if (pair.right != KEY_NONE &&
		    percent(pair.samples, row->samples) >= l->look->threshold)
			row->pairs[n++] = pair;
	}
	row->npairs = n;
	qsort_r(row->pairs, n, sizeof(*row->pairs), pair_order_samples, l);
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void list_draw_header(const struct view_list *l, struct picture *p)
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

static void list_draw_left(struct view_list *l, uint64_t key, struct picture *p)
{
	const struct walk_process *process;
	char room[NAME_MAX_LEN];

	picture_skip(p, 1);
	if (l->look->kind == VIEW_CALLERS) {
		picture_field(p, symbol_image_name(list_key_symbol(l, key)), 10);
		picture_skip(p, 1);
		picture_field(p, list_function_name(l, key, room), 20);
		return;
	}
	process = list_key_process(l, key);
	if (l->look->kind == VIEW_THREADS) {
		picture_printf(p, "%7" PRIu32 " ", (uint32_t)key);
		picture_field(p, list_thread_name(l, key), 15);
		picture_skip(p, 1);
	} else {
		picture_printf(p, "%7d ", (int)process->pid);
	}
	picture_field(p, process->name, 15);
}

/* Draws whole names only: half a name would be another name. */
static void list_draw_right(struct view_list *l, struct list_row *row, struct picture *p)
{
	list_drop_pairs(l, row);
	for (size_t i = 0; i < row->npairs; i++) {
		const struct list_pair *pair = &row->pairs[i];
		char room[NAME_MAX_LEN];
		const char *name = list_function_name(l, pair->right, room);

		if (p->col + picture_width(name) + sizeof(" :100.0") - 1 > p->cols)
			break;
		picture_skip(p, 1);
		picture_text(p, name);
		picture_share(p, percent(pair->samples, row->samples), ":%.1f");
	}
}

static void list_draw(struct view_list *l, struct picture *p)
{
	list_draw_header(l, p);
	for (size_t i = 0; i < l->nrows; i++) {
		struct list_row *row = &l->rows[i];

		if (!picture_line(p))
			return;
		picture_share(p, percent(row->samples, l->view->samples), "%5.1f");
		list_draw_left(l, row->left, p);
		list_draw_right(l, row, p);
	}
	picture_line(p);
}

int view_list(struct view *v, struct picture *p)
{
	struct view_list l = { .view = v, .profile = v->profile, .look = v->look };
	int err = list_collect(&l);

	if (!err)
		err = list_make_rows(&l);
	if (!err) {
		list_drop_rows(&l);
		list_draw(&l, p);
	}
	free(l.rows);
	free(l.pairs);
	return err;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows and rules of a file, in the order of addresses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind/unwind_rows.h"
#include "cfi_rule.h"
#include "fdes.h"
#include "image.h"
#include "lib/base/array.h"
#include "lib/base/index.h"
#include "unwind.h"

#define PADDING 16u			/* a shorter gap between functions has no code of its own */
#define RULES_MAX 65536u

struct table_builder {
	struct unwind_table *t;
	struct fdes fdes;
	struct index index;		/* of the rules */
	uint32_t rows_room, rules_room;
	uint32_t page;			/* where rows are added */
	uint32_t rule;			/* of the last row */
	/* The function at hand. */
	bool signal;
	uint32_t from;			/* the end of the function before it */
	uint32_t first;			/* its own start, from the base */
	struct reason *why;
};

/* --- rows ------------------------------------------------------------------------------------- */

static int table_row_append(struct table_builder *b, uint32_t low, uint32_t rule)
{
	struct unwind_table *t = b->t;
	struct unwind_page *page = &t->pages[b->page];

	/* Two rows for one address: the later one is right. */
	if (page->rows && UNWIND_ROW_LOW(t->rows[t->nrows - 1]) == low) {
		t->rows[t->nrows - 1] = UNWIND_ROW(low, rule);
		b->rule = rule;
		return 0;
	}
	if (t->nrows == UNWIND_ROWS_MAX)
		return deny(b->why, -E2BIG, "its table would have more than %u rows",
			    UNWIND_ROWS_MAX);
	if (array_reserve(t->rows, b->rows_room, t->nrows + 1) != 0)
		return deny(b->why, -ENOMEM, "no memory for its table");
	if (!page->rows)
		page->first = t->nrows;
	page->rows++;
	t->rows[t->nrows++] = UNWIND_ROW(low, rule);
	b->rule = rule;
	return 0;
}

/* From this address on, counted from the base, the rule holds. */
static int table_put(struct table_builder *b, uint64_t at, uint32_t rule)
{
	int err = 0;

	if (at >> UNWIND_PAGE_SHIFT >= b->t->npages)
		return 0;		/* the end of the last page */
	while (!err && b->page < at >> UNWIND_PAGE_SHIFT) {
		b->page++;
		if (b->rule != UNWIND_RULE_NONE &&
		    (b->page < at >> UNWIND_PAGE_SHIFT || at % UNWIND_PAGE_SIZE))
			err = table_row_append(b, 0, b->rule);
	}
	/* The row before may be in the page before. */
	if (err || (rule == b->rule && (rule == UNWIND_RULE_NONE || b->t->pages[b->page].rows)))
		return err;
	if (!b->t->pages[b->page].rows && at % UNWIND_PAGE_SIZE)
		err = table_row_append(b, 0, UNWIND_RULE_NONE);
	return err ?: table_row_append(b, at % UNWIND_PAGE_SIZE, rule);
}

/* --- rules ------------------------------------------------------------------------------------ */

struct table_rule_key {
	const struct unwind_rule *rules, *rule;
};

static bool table_rule_equal(const void *arg, uint32_t position)
{
	const struct table_rule_key *key = arg;

	return !memcmp(&key->rules[position], key->rule, sizeof(*key->rule));
}

/* The number of a rule, old or new, or -errno. */
static int table_rule_number(struct table_builder *b, const struct unwind_rule *rule)
{
	const struct table_rule_key key = { b->t->rules, rule };
	const uint32_t hash = index_fold(index_hash_bytes(0, rule, sizeof(*rule)));
	uint32_t found = index_find(&b->index, hash, table_rule_equal, &key);

	if (found != INDEX_NONE)
		return (int)found;
	if (b->t->nrules == RULES_MAX)
		return deny(b->why, -E2BIG, "its functions have more than %u kinds of frames",
			    RULES_MAX);
	if (array_reserve(b->t->rules, b->rules_room, b->t->nrules + 1) != 0 ||
	    index_add(&b->index, hash, b->t->nrules) != 0)
		return deny(b->why, -ENOMEM, "no memory for its rules");
	b->t->rules[b->t->nrules] = *rule;
	return (int)b->t->nrules++;
}

static int table_put_rule(struct table_builder *b, uint64_t at, const struct unwind_rule *rule)
{
	int number = table_rule_number(b, rule);

	return number < 0 ? number : table_put(b, at, (uint32_t)number);
}

/* --- functions -------------------------------------------------------------------------------- */

/*
 * Padding before a function gets the function's first rule if that is an ordinary one; this saves a
 * row for most functions.  Longer gaps have no rule.
 */
static int table_put_first(struct table_builder *b, const struct unwind_rule *rule)
{
	const uint32_t gap = b->first - b->from;
	int err = 0;

	if (gap && (gap >= PADDING || !b->from || rule->cfa != UNWIND_SP))
		err = table_put(b, b->from, UNWIND_RULE_NONE);
	else
		return table_put_rule(b, b->from, rule);
	return err ?: table_put_rule(b, b->first, rule);
}

static int table_state(void *arg, uint64_t address, const struct cfi_state *state)
{
	struct table_builder *b = arg;
	const uint64_t at = address - b->t->base;
	struct unwind_rule rule;

	cfi_rule_of(b->t->arch, b->signal, state, &rule);
	return at == b->first ? table_put_first(b, &rule) : table_put_rule(b, at, &rule);
}

/* Functions without instructions. */
static int table_put_pseudo(struct table_builder *b, uint32_t entry)
{
	static const struct unwind_rule end = { .cfa = UNWIND_END },
					signal = { .cfa = UNWIND_SIGNAL };
#define TABLE_CALLED(cfa_, offset_, ...)                                                      \
	{ .cfa = (cfa_), .offset = (offset_), .ra = UNWIND_AT_CFA, .ra_at = -1, __VA_ARGS__ }
	static const struct unwind_rule known[][IMAGE_STACKS] = {
		[UNWIND_X86_64] = {
			[IMAGE_CALLED] = TABLE_CALLED(UNWIND_SP, 8),
			[IMAGE_PUSHED] = TABLE_CALLED(UNWIND_SP, 16),
			[IMAGE_PUSHED_TWO] = TABLE_CALLED(UNWIND_SP, 24),
			[IMAGE_PLT] = TABLE_CALLED(UNWIND_PLT, 8, .add = 8, .reg = 11),
			[IMAGE_PLT_PAD] = TABLE_CALLED(UNWIND_PLT, 8, .add = 8, .reg = 9),
		},
		[UNWIND_ARM64] = {
			[IMAGE_CALLED] = { .cfa = UNWIND_SP, .ra = UNWIND_SAME },
			[IMAGE_PUSHED] = TABLE_CALLED(UNWIND_SP, 16),
		},
	};
#undef TABLE_CALLED

	return table_put_first(b, entry == FDE_END ? &end : entry == FDE_SIGNAL ? &signal :
			       &known[b->t->arch][entry - FDE_KNOWN]);
}

/* The function has a place of its own up to `end`, where the next one may begin too early. */
static int table_put_function(struct table_builder *b, const struct fde *f, uint32_t end)
{
	const struct unwind_rule bad = { .cfa = UNWIND_BAD };
	struct cfi_fde fde;
	int err;

	b->first = f->start;
	if (end == f->start)
		return table_put_first(b, &bad);
	if (f->entry >= FDE_PSEUDO)
		return table_put_pseudo(b, f->entry);
	err = fdes_entry(&b->fdes, f, &fde, b->why);
	if (err)
		return err;
	b->signal = fde.cie->signal;
	return cfi_run(b->t->arch, &fde, b->t->base + end, table_state, b);
}

/*
 * Functions that overlap contradict each other: from the start of the second to the end of both
 * there is no rule to be trusted.
 */
static int table_fill(struct table_builder *b)
{
	const struct fde *list = b->fdes.list;
	int err = 0;

	for (uint32_t i = 0; !err && i < b->fdes.n; i++) {
		const uint32_t end = list[i].start + list[i].size;
		const uint32_t next = i + 1 < b->fdes.n ? list[i + 1].start : end;

		if (i && list[i].start < b->from)
			err = table_put(b, list[i].start, UNWIND_RULE_BAD);
		else
			err = table_put_function(b, &list[i], next < end ? next : end);
		b->from = end > b->from ? end : b->from;
	}
	return err ?: table_put(b, b->from, UNWIND_RULE_NONE);
}

static int table_rules_begin(struct table_builder *b)
{
	static const struct unwind_rule none = { .cfa = UNWIND_NONE }, bad = { .cfa = UNWIND_BAD };
	int number = table_rule_number(b, &none);

	if (number >= 0)
		number = table_rule_number(b, &bad);
	return number < 0 ? number : 0;
}

static int table_compile(struct table_builder *b, const struct image *image)
{
	struct unwind_table *t = b->t;
	int err = fdes_read(&b->fdes, image, b->why);

	if (err)
		return err;
	t->arch = image->arch;
	memcpy(t->code, image->code, sizeof(t->code));
	t->ncode = image->ncode;
	t->base = image->base;
	t->npages = image->npages;
	t->pages = calloc(t->npages, sizeof(*t->pages));
	if (!t->pages)
		return deny(b->why, -ENOMEM, "no memory for its table");
	err = table_rules_begin(b);
	err = err ?: table_fill(b);
	t->nfdes = b->fdes.n;
	t->nskipped = b->fdes.nskipped;
	return err;
}

int unwind_table_build(struct unwind_table *t, const struct unwind_input *in, struct reason *why)
{
	struct table_builder b = { .t = t, .why = why };
	struct image image;
	int err = image_read(&image, in, why);

	*t = (struct unwind_table){ .nrows = 0 };
	if (!err)
		err = table_compile(&b, &image);
	fdes_free(&b.fdes);
	index_free(&b.index);
	image_free(&image);
	if (err)
		unwind_table_free(t);
	return err;
}

void unwind_table_free(struct unwind_table *t)
{
	free(t->pages);
	free(t->rows);
	free(t->rules);
	*t = (struct unwind_table){ .nrows = 0 };
}

uint64_t unwind_table_address(const struct unwind_table *t, uint64_t offset)
{
	for (uint32_t i = 0; i < t->ncode; i++) {
		const struct unwind_code *code = &t->code[i];

		if (offset >= code->offset && offset - code->offset < code->end - code->start)
			return code->start + (offset - code->offset);
	}
	return 0;
}

uint32_t unwind_table_rule(const struct unwind_table *t, uint64_t address)
{
	const uint64_t page = (address - t->base) >> UNWIND_PAGE_SHIFT;
	const uint32_t low = (uint32_t)(address - t->base) % UNWIND_PAGE_SIZE;

	if (address < t->base || page >= t->npages || !t->pages[page].rows)
		return UNWIND_RULE_NONE;
	return unwind_row_find(t->rows, t->pages[page].first, t->pages[page].rows, low);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes the compiler of call frame information: the input is an ELF file.  Each refusal has a
 * reason, and each table is one that the walker can search: rows are sorted, a page's begin at 0,
 * their rules exist.
 */
#include <stdlib.h>

#include "loader/unwind/unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool good)
{
	if (!good)
		abort();
}

static void check_page(const struct unwind_table *t, const struct unwind_page *page)
{
	const uint32_t *row = t->rows + page->first;

	check(page->rows <= t->nrows && page->first <= t->nrows - page->rows);
	check(UNWIND_ROW_LOW(row[0]) == 0);
	for (uint32_t i = 0; i < page->rows; i++) {
		check(UNWIND_ROW_RULE(row[i]) < t->nrules);
		check(!i || UNWIND_ROW_LOW(row[i]) > UNWIND_ROW_LOW(row[i - 1]));
	}
}

static void check_rule(const struct unwind_rule *r)
{
	check(r->cfa < UNWIND_CFA_KINDS && r->ra < UNWIND_PLACES && r->fp < UNWIND_PLACES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_input in = { .fd = -1, .memory = data, .size = size };
	struct unwind_table t;
	struct reason why = { "" };

	in.vdso = size && data[size - 1] & 1;
	if (unwind_table_build(&t, &in, &why)) {
		check(*why.text);
		return 0;
	}
	for (uint32_t p = 0; p < t.npages; p++)
		if (t.pages[p].rows)
			check_page(&t, &t.pages[p]);
	for (uint32_t i = 0; i < t.nrules; i++)
		check_rule(&t.rules[i]);
	unwind_table_free(&t);
	return 0;
}

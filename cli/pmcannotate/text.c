/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows as FreeBSD's pmcannotate prints them: "12.34%<tab>| text", without a hit "<tab>| text". */
#include <stdio.h>
#include <string.h>

#include "pmcannotate.h"
#include "cli/common/common.h"

bool pmcannotate_wants(const struct annotate *a, const struct hit_function *f)
{
	const char *name = f->symbol->name;
	size_t len = a->function ? strlen(a->function) : 0;

	if (!a->function)
		return f->share >= a->limit;
	/* The arguments of C++ functions are left out. */
	return name && strncmp(name, a->function, len) == 0 && (!name[len] || name[len] == '(');
}

/* Source files and symbols are untrusted: control characters must not reach the terminal. */
static void text_plain(struct buf *out, const char *text)
{
	size_t at = out->len;

	buf_printf(out, "%s", text);
	for (; at < out->len && !out->failed; at++) {
		unsigned char c = (unsigned char)out->data[at];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			out->data[at] = '?';
	}
}

static bool counts_any(const uint64_t *counts, size_t n)
{
	for (size_t e = 0; e < n; e++) {
		if (counts[e])
			return true;
	}
	return false;
}

/* With one event the number alone, with several columns. */
static void text_shares(struct buf *out, const struct hits *h, const uint64_t *counts)
{
	for (size_t e = 0; e < h->nevents; e++) {
		double share = percent(counts[e], h->totals[e]);

		if (h->nevents == 1)
			buf_printf(out, "%.2f%%", share);
		else if (counts[e])
			buf_printf(out, "%s%6.2f%%", e ? " " : "", share);
		else
			buf_printf(out, "%s%7s", e ? " " : "", "");
	}
}

static int text_function(struct annotate *a, const struct hit_function *f, struct buf *out)
{
	const struct hits *h = &a->hits;
	char room[24];
	const char *name = symbol_text(f->symbol, room);
	struct listing l;
	int code = listing_make(&l, a, f);

	buf_printf(out, "Profile trace for function: ");
	text_plain(out, name);
	buf_printf(out, "%s [", name[strlen(name) - 1] == ')' ? "" : "()");
	text_shares(out, h, f->counts);
	buf_printf(out, "]\n");
	for (size_t i = 0; i < l.nrows && !code; i++) {
		const uint64_t *counts = l.counts + i * l.nevents;

		if (counts_any(counts, l.nevents))
			text_shares(out, h, counts);
		buf_printf(out, "\t| ");
		text_plain(out, l.text.data + l.rows[i].text);
		buf_add(out, "\n", 1);
	}
	buf_add(out, "\n", 1);
	listing_free(&l);
	return code;
}

int pmcannotate_text(struct annotate *a, struct buf *out)
{
	int code = 0;

	if (a->hits.nevents > 1) {
		buf_printf(out, "Columns:");
		for (size_t e = 0; e < a->hits.nevents; e++) {
			buf_printf(out, " ");
			text_plain(out, a->hits.events[e]);
		}
		buf_printf(out, "\n\n");
	}
	for (size_t i = 0; i < a->hits.nfunctions && !code; i++) {
		if (pmcannotate_wants(a, &a->hits.functions[i]))
			code = text_function(a, &a->hits.functions[i], out);
	}
	return code;
}

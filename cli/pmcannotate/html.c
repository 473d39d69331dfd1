/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows as a page of HTML, without scripts and without external resources. */
#include <string.h>

#include "pmcannotate.h"

static const char style[] =
	":root{color-scheme:light dark;--bar:#f4a582;--dim:#777;--code:#8883}\n"
	"@media(prefers-color-scheme:dark){:root{--bar:#9c4a1a;--dim:#999}}\n"
	"body{font:14px/1.4 system-ui,sans-serif;margin:1.5em}\n"
	"h2{font-size:1.1em;overflow-wrap:anywhere;border-top:1px solid;padding-top:.8em}\n"
	"table{border-collapse:collapse;font:12px/1.35 ui-monospace,monospace}\n"
	"th{font-weight:normal;color:var(--dim);text-align:right;padding:0 .6em}\n"
	"td{padding:0 .6em;white-space:pre;tab-size:8}\n"
	"td.n{text-align:right;min-width:5em;"
	"background:linear-gradient(to left,var(--bar) var(--w,0%),transparent 0)}\n"
	"td.l{text-align:right;color:var(--dim);user-select:none}\n"
	"tr.c td.t,tr.p td.t{color:var(--dim)}tr.c td.t{padding-left:3em}\n"
	"tr.p td.t{font-style:italic}\n"
	"tr:target,tr:hover{background:var(--code)}\n"
	"nav li{overflow-wrap:anywhere}nav{columns:28em}\n";

static void html_quoted(struct buf *out, const char *text)
{
	for (; *text; text++) {
		bool control = ((unsigned char)*text < ' ' && *text != '\t') || *text == 0x7f;

		print_markup(out, control ? "?" : text, 1);
	}
}

static void html_shares(struct buf *out, const struct hits *h, const uint64_t *counts)
{
	for (size_t e = 0; e < h->nevents; e++)
		buf_printf(out, "%s%.2f%%", e ? " " : "", percent(counts[e], h->totals[e]));
}

/* A bar is the row's part of the function. */
static void html_cells(struct buf *out, const struct hits *h, const struct hit_function *f,
		       const uint64_t *counts)
{
	for (size_t e = 0; e < h->nevents; e++) {
		uint64_t count = counts[e];

		if (count)
			buf_printf(out,
				   "<td class=n style=\"--w:%.0f%%\" title=\"%llu samples\">%.2f%%",
				   percent(count, f->counts[e]), (unsigned long long)count,
				   percent(count, h->totals[e]));
		else
			buf_printf(out, "<td class=n>");
	}
}

static void html_row(struct buf *out, const struct hits *h, const struct hit_function *f,
		     const struct listing *l, size_t i)
{
	static const char class[] = { [ROW_SOURCE] = 's', [ROW_CODE] = 'c', [ROW_PLACE] = 'p' };
	const struct listing_row *row = &l->rows[i];

	buf_printf(out, "<tr class=%c>", class[row->kind]);
	html_cells(out, h, f, l->counts + i * l->nevents);
	if (row->kind == ROW_SOURCE) {
		buf_printf(out, "<td class=l title=\"");
		html_quoted(out, row->frame->file);
		buf_printf(out, ":%u\">%u", row->line, row->line);
	} else {
		buf_printf(out, "<td class=l>");
	}
	buf_printf(out, "<td class=t>");
	html_quoted(out, l->text.data + row->text);
	buf_add(out, "\n", 1);
}

static void html_heads(struct buf *out, const struct hits *h)
{
	buf_printf(out, "<tr>");
	for (size_t e = 0; e < h->nevents; e++) {
		buf_printf(out, "<th>");
		html_quoted(out, h->events[e]);
	}
	buf_printf(out, "<th>line<th>\n");
}

static int html_function(struct annotate *a, const struct hit_function *f, size_t number,
			 struct buf *out)
{
	struct listing l;
	char room[24];
	int code = listing_make(&l, a, f);

	buf_printf(out, "<h2 id=f%zu>", number);
	html_quoted(out, symbol_text(f->symbol, room));
	buf_printf(out, " [");
	html_shares(out, &a->hits, f->counts);
	buf_printf(out, "]</h2>\n<table>\n");
	html_heads(out, &a->hits);
	for (size_t i = 0; i < l.nrows && !code; i++)
		html_row(out, &a->hits, f, &l, i);
	buf_printf(out, "</table>\n");
	listing_free(&l);
	return code;
}

static void html_list(const struct annotate *a, struct buf *out)
{
	const struct hits *h = &a->hits;
	char room[24];

	buf_printf(out, "<nav><ol>\n");
	for (size_t i = 0; i < h->nfunctions; i++) {
		if (!pmcannotate_wants(a, &h->functions[i]))
			continue;
		buf_printf(out, "<li><a href=#f%zu>", i);
		html_quoted(out, symbol_text(h->functions[i].symbol, room));
		buf_printf(out, "</a> ");
		html_shares(out, h, h->functions[i].counts);
		buf_add(out, "\n", 1);
	}
	buf_printf(out, "</ol></nav>\n");
}

int pmcannotate_html(struct annotate *a, struct buf *out)
{
	int code = 0;

	buf_printf(out, "<!DOCTYPE html>\n<html lang=en><meta charset=utf-8>\n"
		   "<meta name=viewport content=\"width=device-width\">\n<title>");
	html_quoted(out, a->binary.name);
	buf_printf(out, "</title>\n<style>\n%s</style>\n<h1>", style);
	html_quoted(out, a->binary.name);
	buf_printf(out, "</h1>\n<p>Samples of ");
	html_quoted(out, a->log);
	buf_printf(out, "; percentages are of all samples of the event.\n");
	html_list(a, out);
	for (size_t i = 0; i < a->hits.nfunctions && !code; i++) {
		if (pmcannotate_wants(a, &a->hits.functions[i]))
			code = html_function(a, &a->hits.functions[i], i, out);
	}
	buf_printf(out, "</html>\n");
	return code;
}

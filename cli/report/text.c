/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The default report: for each event the functions with the most samples, fitted to the terminal.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "event.h"
#include "print.h"
#include "rows.h"

#define FUNCTION_MAX 48u	/* columns, if the width has no limit */
#define IMAGE_MAX    24u
#define WIDTH_MIN    12u	/* a share, and part of a name */

/* The columns that fit: a narrow terminal has no room for all. */
struct layout {
	unsigned int function, image;	/* columns, 0: left out */
	bool total, samples;
	bool wide;			/* the last column may be as long as it is */
};

static void layout_begin(struct layout *l, unsigned int width, unsigned int function,
			 unsigned int image)
{
	unsigned int left = width < WIDTH_MIN ? WIDTH_MIN : width;

	*l = (struct layout){ .total = true, .samples = true };
	if (!width) {
		l->wide = true;
		l->function = function < FUNCTION_MAX ? function : FUNCTION_MAX;
		l->image = image;
		return;
	}
	l->total = width >= 36;
	l->samples = width >= 48;
	left -= 8 + 8 * l->total + 11 * l->samples;
	if (width >= 64)
		l->image = image < IMAGE_MAX ? image : IMAGE_MAX;
	left -= l->image ? l->image + 1 : 0;
	l->function = function < left ? function : left;
}

/* The colours of pmcstat -T. */
static const char *share_colour(double share)
{
	if (share > 10)
		return "\033[31m";
	if (share > 5)
		return "\033[33m";
	return share > 2.5 ? "\033[32m" : NULL;
}

static void text_share(const struct report *r, struct buf *out, double share)
{
	const char *colour = r->colour ? share_colour(share) : NULL;

	buf_printf(out, "%s%6.2f%%%s ", colour ? colour : "", share, colour ? "\033[0m" : "");
}

/* A row, or the sum of `sum` rows below the threshold: of an image, of several without a symbol. */
struct text_line {
	struct report_row row;
	size_t sum;
};

struct text_lines {
	struct text_line *list;
	size_t n;
};

/* Without an image it is a kernel address, in a log without kernel names. */
static bool place_in_kernel(const struct symbol *symbol)
{
	return !symbol->image && symbol->start & WALK_KERNEL;
}

static const char *symbol_image(const struct text_line *line)
{
	const struct symbol *symbol = line->row.symbol;

	if (!symbol)
		return "";
	if (symbol->image)
		return symbol->image->name;
	if (symbol_is_cut(symbol))
		return "";
	return place_in_kernel(symbol) ? SYMBOLS_HIDDEN : "(no mapping)";
}

/* For free(3); NULL: no memory. */
static char *line_format(const struct report *r, const struct text_line *line)
{
	const struct symbol *symbol = line->row.symbol;
	const char *s = line->sum == 1 ? "" : "s", *es = line->sum == 1 ? "" : "es";
	char *text;
	int n;

	if (!line->sum)
		return row_text(&line->row, r->offsets);
	if (!symbol)
		n = asprintf(&text, "(%zu more below %g%%)", line->sum, r->threshold);
	else if (!symbol->image && !place_in_kernel(symbol))
		n = asprintf(&text, "(%zu address%s in no file)", line->sum, es);
	else if (!symbol->name)
		n = asprintf(&text, "(%zu address%s without name%s)", line->sum, es, s);
	else if (r->offsets)
		n = asprintf(&text, "(%zu address%s below %g%%)", line->sum, es, r->threshold);
	else
		n = asprintf(&text, "(%zu function%s below %g%%)", line->sum, s, r->threshold);
	return n < 0 ? NULL : text;
}

static void report_line(const struct report *r, const struct layout *l,
			const struct text_line *line, uint64_t samples, struct buf *out)
{
	char *name = line_format(r, line);

	out->failed = out->failed || !name;
	text_share(r, out, percent(line->row.self, samples));
	if (l->total && line->sum)	/* a chain through several of them counts once: not known */
		buf_printf(out, "%7s ", "-");
	else if (l->total)
		text_share(r, out, percent(line->row.total, samples));
	if (l->samples)
		buf_printf(out, "%10llu ", (unsigned long long)line->row.self);
	if (name && l->wide) {
		unsigned int n = print_text(out, name);

		buf_printf(out, "%*s", n < l->function ? (int)(l->function - n) : 0, "");
	} else if (name) {
		print_column(out, name, l->function);
	}
	free(name);
	if (l->image) {
		buf_add(out, " ", 1);
		print_text(out, symbol_image(line));
	}
	while (out->len && out->data[out->len - 1] == ' ')
		out->len--;
	buf_add(out, "\n", 1);
}

static void text_head(const struct layout *l, const char *unit, struct buf *out)
{
	char upper[16] = "";

	for (size_t i = 0; unit[i] && i < sizeof(upper) - 1; i++)
		upper[i] = (char)toupper((unsigned char)unit[i]);
	buf_printf(out, "%7s ", "SELF");
	if (l->total)
		buf_printf(out, "%7s ", "TOTAL");
	if (l->samples)
		buf_printf(out, "%10s ", upper);
	if (l->image) {
		print_column(out, "FUNCTION", l->function);
		buf_add(out, " IMAGE\n", 7);
	} else {
		buf_printf(out, "%.*s\n", (int)l->function, "FUNCTION");
	}
}

/* A frame outside all files needs samples of its own: broken chains have many such frames. */
static bool line_shown(const struct report *r, const struct report_row *row, uint64_t samples)
{
	return percent(row->self, samples) >= r->threshold ||
	       ((row->symbol->image || symbol_is_cut(row->symbol)) &&
		percent(row->total, samples) >= r->threshold);
}

/* Columns of the longest function and image. */
static void lines_measure(const struct report *r, const struct text_lines *lines,
			  unsigned int *function, unsigned int *image)
{
	*function = 8;
	*image = 5;
	for (size_t i = 0; i < lines->n; i++) {
		char *name = line_format(r, &lines->list[i]);
		unsigned int columns = name ? print_columns(name) : 0;

		free(name);
		*function = columns > *function ? columns : *function;
		columns = print_columns(symbol_image(&lines->list[i]));
		*image = columns > *image ? columns : *image;
	}
}

static void lines_add_sum(struct text_line *sum, const struct text_line *line)
{
	sum->row.self += line->row.self;
	sum->sum += line->sum ? line->sum : 1;
}

/* Behind lines with as many samples. */
static void lines_insert(struct text_lines *lines, const struct text_line *line)
{
	size_t at = lines->n++;

	for (; at && lines->list[at - 1].row.self < line->row.self; at--)
		lines->list[at] = lines->list[at - 1];
	lines->list[at] = *line;
}

/* The lines add up to 100 %: lines that are not shown are part of a sum. */
static int lines_choose(const struct report *r, const struct report_row *rows, size_t n,
			uint64_t samples, struct text_lines *lines)
{
	struct text_line *sums, rest = { .sum = 0 };
	size_t images = 0;

	while (symbols_each(r->profile->symbols, images))
		images++;
	lines->n = 0;
	lines->list = calloc(n + 1, sizeof(*lines->list));
	sums = calloc(2 * (images + 1), sizeof(*sums));
	for (size_t i = 0; lines->list && sums && i < n; i++) {
		const struct text_line line = { rows[i], 0 };
		const struct symbol *symbol = rows[i].symbol;
		size_t image = symbol->image ? symbol->image->number + 1 : 0;
		struct text_line *sum =
			&sums[2 * image + (!symbol->name && !place_in_kernel(symbol))];

		if (line_shown(r, &rows[i], samples)) {
			lines->list[lines->n++] = line;
		} else {
			sum->row.symbol = symbol;
			lines_add_sum(sum, &line);
		}
	}
	for (size_t i = 0; lines->list && sums && i < 2 * (images + 1); i++) {
		if (sums[i].sum && percent(sums[i].row.self, samples) >= r->threshold)
			lines_insert(lines, &sums[i]);
		else if (sums[i].sum)
			lines_add_sum(&rest, &sums[i]);
	}
	if (lines->list && rest.sum)
		lines->list[lines->n++] = rest;
	free(sums);
	return lines->list && sums ? 0 : -ENOMEM;
}

static void text_rows(const struct report *r, const struct report_row *rows, size_t n,
		      uint64_t samples, const char *unit, struct buf *out)
{
	unsigned int function, image;
	struct text_lines lines;
	struct layout l;

	if (lines_choose(r, rows, n, samples, &lines) != 0) {
		free(lines.list);
		out->failed = true;
		return;
	}
	lines_measure(r, &lines, &function, &image);
	layout_begin(&l, r->width, function, image);
	text_head(&l, unit, out);
	for (size_t i = 0; i < lines.n; i++)
		report_line(r, &l, &lines.list[i], samples, out);
	free(lines.list);
}

/* A line, cut at the terminal's width. */
__attribute__((format(printf, 3, 4))) static void text_note(const struct report *r, struct buf *out,
							    const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (r->width && print_columns(line) > r->width)
		print_column(out, line, r->width);
	else
		print_text(out, line);
	buf_add(out, "\n", 1);
}

static void text_event(const struct report *r, uint32_t number, const struct walk_event *event,
		       struct buf *out)
{
	const char *unit = event_unit(r->profile, number);
	struct report_row *rows = NULL;
	struct buf period = { 0 };
	uint64_t samples = 0;
	size_t n = 0;

	if (rows_of(r->profile, number, r->offsets, &rows, &n) != 0) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		samples += rows[i].self;
	event_put_period(&period, r->profile, number);
	buf_add(&period, "", 1);
	if (samples && !period.failed) {
		buf_add(out, "\n", 1);
		text_note(r, out, "%s: %llu %s%s", event->name, (unsigned long long)samples,
			  unit, period.data);
		text_rows(r, rows, n, samples, unit, out);
	}
	out->failed |= period.failed;
	buf_free(&period);
	free(rows);
}

static void text_ends(const struct report *r, const struct chains *c, struct buf *out)
{
	const uint64_t cut = c->cuts[PMC_CHAIN_NOT_RECORDED];
	struct buf share = { 0 };

	if (c->ended) {
		chains_put_share(&share, c);
		buf_add(&share, "", 1);
		out->failed |= share.failed;
		if (!share.failed)
			text_note(r, out, "# whole chains: %s", share.data);
	}
	if (c->pointers)
		text_note(r, out, "# by frame pointers in part: %llu, without proof",
			  (unsigned long long)c->pointers);
	if (cut)
		text_note(r, out, "# cut chains: %llu, their outermost callers are missing",
			  (unsigned long long)cut);
	buf_free(&share);
}

/* The recording, and whether it is complete. */
static void text_header(const struct report *r, const struct walk_stats *s, struct buf *out)
{
	char when[64] = "";
	struct tm tm;

	text_note(r, out, "# log: %s", r->log);
	if (localtime_r(&s->began.tv_sec, &tm) &&
	    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm))
		text_note(r, out, "# begun: %s", when);
	text_note(r, out, "# duration: %.3f s", s->seconds);
	text_note(r, out, "# CPU: %s", s->cpu);
	text_note(r, out, "# samples: %llu", (unsigned long long)s->samples);
	if (s->passed != s->samples)
		text_note(r, out, "# chosen: %llu", (unsigned long long)s->passed);
	if (s->lost)
		text_note(r, out, "# gaps: %llu, with at least %llu records",
			  (unsigned long long)s->drops, (unsigned long long)s->lost);
	else
		text_note(r, out, "# gaps: %llu", (unsigned long long)s->drops);
	text_ends(r, &s->ends, out);
	text_note(r, out, "# end: %s", s->cut ? "missing, this is a part" : "complete");
}

void report_functions(const struct report *r, struct buf *out)
{
	const struct walk *w = r->profile->walk;
	const struct walk_event *event;

	text_header(r, walk_stats(w), out);
	for (uint32_t i = 0; (event = walk_event(w, i)); i++)
		if (event->first == i)
			text_event(r, i, event, out);
}

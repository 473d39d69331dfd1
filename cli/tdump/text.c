/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of text: tdump's as on BSD/OS's page, the debugger's, and ktrdump's as FreeBSD prints them.
 * There are millions of them, so numbers are formatted here, without printf(3).
 */
#include <stdio.h>
#include <string.h>

#include "cli/common/common.h"
#include "tdump.h"

#define DELTA_WIDTH   8
#define STAMP_WIDTH   16
#define FILE_WIDTH    40
#define THREAD_WIDTH  18
#define US	      1000000u

/* Right-aligns the text from `from` to `to` in a column of at least `width` characters. */
static char *column_right(char *from, char *to, int width)
{
	size_t len = (size_t)(to - from), pad = (size_t)width > len ? (size_t)width - len : 0;

	if (pad) {
		memmove(from + pad, from, len);
		memset(from, ' ', pad);
	}
	return to + pad;
}

static char *column_left(char *from, char *to, int width)
{
	while (to - from < width)
		*to++ = ' ';
	return to;
}

/* No column of numbers is wider. */
static char *column_hex(char *to, uint64_t value, int width)
{
	int n = (67 - __builtin_clzll(value | 1)) / 4;

	memset(to, ' ', DELTA_WIDTH);
	return format_hex(width > n ? to + (width - n) : to, value);
}

static char *column_decimal(char *to, uint64_t value)
{
	char digits[20], *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + value % 10);
	while (value /= 10);
	memcpy(to, first, (size_t)(digits + sizeof(digits) - first));
	return to + (digits + sizeof(digits) - first);
}

/* Seconds and microseconds. */
static char *column_seconds(char *to, uint64_t us)
{
	uint64_t part = us % US;

	to = column_decimal(to, us / US);
	*to++ = '.';
	for (uint64_t least = US / 10; least > 1 && part < least; least /= 10)
		*to++ = '0';
	return column_decimal(to, part);
}

static bool column_coarse(const struct tdump *t)
{
	return t->rings[0]->header.clock == KTR_CLOCK_COARSE && t->rings[0]->ns_a_clock == 0;
}

/* A time or difference in the format of the options, of any width. */
static char *column_time(const struct tdump *t, char *to, uint64_t time)
{
	if (t->opt.clocks != 0)
		return column_seconds(to, (uint64_t)((double)time / t->opt.clocks));
	if (column_coarse(t))
		return column_seconds(to, time);
	return t->opt.decimal ? column_decimal(to, time) : format_hex(to, time);
}

/* An entry with a later time than the one above it has a negative delta. */
static char *put_delta(const struct tdump *t, char *to, uint64_t delta)
{
	if ((int64_t)delta >= 0)
		return column_time(t, to, delta);
	*to++ = '-';
	return column_time(t, to, -delta);
}

static char *column_delta(const struct tdump *t, char *to, uint64_t delta)
{
	if ((int64_t)delta >= 0 && t->opt.clocks == 0 && !t->opt.decimal && !column_coarse(t))
		return column_hex(to, delta, DELTA_WIDTH);
	return column_right(to, put_delta(t, to, delta), DELTA_WIDTH);
}

static char *column_stamp(const struct tdump *t, char *to, uint64_t time)
{
	char *end;

	if (t->opt.clocks == 0 && !column_coarse(t) && !t->opt.decimal) {
		char *digits = to;

		end = format_hex(to, time);
		end = column_right(digits, end, STAMP_WIDTH);
		for (; *digits == ' '; digits++)
			*digits = '0';
		return end;
	}
	return column_right(to, column_time(t, to, time), STAMP_WIDTH);
}

static char *column_file(char *to, const struct point *point)
{
	char *from = to;

	if (point && point->file[0]) {
		to = format_visible(to, point->file, strlen(point->file));
		*to++ = ':';
		to = column_decimal(to, point->line);
	} else {
		const char *name = point && point->name ? point->name : "(null)";

		to = format_visible(to, name, strlen(name));
	}
	to = column_left(from, to, FILE_WIDTH);
	*to++ = ' ';
	return to;
}

static char *column_thread(char *to, uint32_t tid)
{
	char *from = to;

	to = column_left(from, format_hex(stpcpy(to, "0x"), tid), THREAD_WIDTH);
	*to++ = ' ';
	return to;
}

/* The columns between the time and the text that -t, -f and -H add. */
static char *columns_more(const struct tdump *t, const struct tdump_line *line, char *to)
{
	if (t->opt.stamps) {
		to = column_right(to, column_decimal(to, line->item->time), STAMP_WIDTH);
		*to++ = ' ';
	}
	if (t->opt.files)
		to = column_file(to, line->point);
	if (t->opt.threads)
		to = column_thread(to, line->item->entry->ktr_tid);
	return to;
}

static char *line_text(const struct tdump_line *line, char *to)
{
	return points_text(line->points, line->point, line->item, to);
}

static char *line_verbose(const struct tdump_line *line, char *to)
{
	const uint64_t *words = &line->item->entry->ktr_parm1;

	while (to[-1] == ' ')
		to--;
	*to++ = '\n';
	*to++ = '\t';
	to = line_text(line, to);
	*to++ = '\n';
	for (unsigned int i = 0; i < FORMAT_WORDS; i++) {
		char *from = to + 1;

		*to = i ? ' ' : '\t';
		to = column_right(from, format_hex(from, words[i]), STAMP_WIDTH);
		for (; *from == ' '; from++)
			*from = '0';
	}
	return to;
}

/* Colours, by CPU, of the columns before the text. */
static char *line_paint(const struct tdump *t, const struct tdump_line *line, char *to)
{
	static const char *const cpus[] = { "\x1b[32m", "\x1b[36m", "\x1b[33m", "\x1b[35m",
					    "\x1b[34m" };

	if (!t->out.color)
		return to;
	if (!line->point || line->point->state != POINT_GOOD)
		return stpcpy(to, "\x1b[31m");
	return stpcpy(to, cpus[line->item->cpu % (sizeof(cpus) / sizeof(cpus[0]))]);
}

static char *text_row(struct tdump *t, const struct tdump_line *line, char *to)
{
	const struct item *item = line->item;

	to = column_hex(line_paint(t, line, to), item->cpu, t->cpu_width);
	*to++ = ' ';
	to = column_hex(to, item->index, t->index_width);
	*to++ = ' ';
	if (t->opt.absolute || t->opt.verbose)
		to = column_stamp(t, to, item->time);
	if (t->opt.verbose)
		*to++ = ' ';
	if (!t->opt.absolute || t->opt.verbose)
		to = column_delta(t, to, line->delta);
	if (t->opt.verbose) {
		*to++ = ' ';
		to = column_right(to, put_delta(t, to, t->newest - item->time), DELTA_WIDTH);
	}
	if (t->opt.form == FORM_DEBUGGER)
		*to++ = ':';
	*to++ = ' ';
	if (t->out.color && line->point && line->point->state == POINT_GOOD)
		to = stpcpy(to, "\x1b[0m");
	to = columns_more(t, line, to);
	to = t->opt.verbose ? line_verbose(line, to) : line_text(line, to);
	return t->out.color && (!line->point || line->point->state != POINT_GOOD) ?
		stpcpy(to, "\x1b[0m") : to;
}

static char *text_ktrdump_row(struct tdump *t, const struct tdump_line *line, char *to)
{
	const struct item *item = line->item;

	to = column_right(to, column_decimal(to, item->index), 6);
	*to++ = ' ';
	if (t->opt.cpus) {
		to = column_right(to, column_decimal(to, item->cpu), 3);
		*to++ = ' ';
	}
	if (t->opt.stamps) {
		uint64_t time = item->time;

		/* Relative to the time in the line above. */
		if (t->opt.relative)
			time = t->opt.oldest ? time - t->newest : t->newest - time;
		to = column_right(to, column_decimal(to, time), STAMP_WIDTH);
		*to++ = ' ';
		t->newest = item->time;
	}
	if (t->opt.files)
		to = column_file(to, line->point);
	if (t->opt.threads)
		to = column_thread(to, item->entry->ktr_tid);
	return line_text(line, to);
}

char *text_line(struct tdump *t, const struct tdump_line *line, char *to)
{
	if (!t->started && !t->newest)
		t->newest = line->item->time;
	if (!t->started && t->opt.form == FORM_DEBUGGER) {
		to = column_time(t, stpcpy(to, "Newest entry at clock "), line->item->time);
		*to++ = '\n';
	}
	t->started = true;
	to = t->opt.form == FORM_KTRDUMP ? text_ktrdump_row(t, line, to) : text_row(t, line, to);
	*to++ = '\n';
	return to;
}

struct heading {
	const char *name;
	int width;
	bool shown;
};

/* Column headings, underlined with `c`; the last column's line has `last` of them. */
static void text_heading(struct tdump_out *out, const struct heading *h, size_t n, char c, int last)
{
	char *to = out->data + out->len;

	for (int rule = 0; rule < 2; rule++)
		for (size_t i = 0; i < n; i++) {
			bool is_last = i == n - 1;
			char *from = to;
			int width = is_last ? last : h[i].width;

			if (!h[i].shown)
				continue;
			if (rule) {
				memset(to, c, (size_t)width);
				to += width;
			} else {
				to = stpcpy(to, h[i].name);
				to = is_last ? to : column_left(from, to, width);
			}
			/* FreeBSD's line ends with a blank. */
			if (!is_last || (rule && c == '-'))
				*to++ = ' ';
			if (is_last)
				*to++ = '\n';
		}
	out->len = (size_t)(to - out->data);
}

int text_begin(struct tdump *t)
{
	const struct tdump_options *o = &t->opt;
	const struct heading tdump[] = {
		{ "C", t->cpu_width, true }, { "Idx", t->index_width, true },
		{ "Time Stamp", STAMP_WIDTH, o->absolute || o->verbose },
		{ "Delta-T", DELTA_WIDTH, !o->absolute || o->verbose },
		{ "Age", DELTA_WIDTH, o->verbose }, { "timestamp", STAMP_WIDTH, o->stamps },
		{ "file and line", FILE_WIDTH, o->files }, { "tid", THREAD_WIDTH, o->threads },
		{ "Trace", 0, true },
	};
	const struct heading ktrdump[] = {
		{ "index", 6, true }, { "cpu", 3, o->cpus },
		{ "timestamp", STAMP_WIDTH, o->stamps },
		{ "file and line", FILE_WIDTH, o->files }, { "tid", THREAD_WIDTH, o->threads },
		{ "trace", 0, true },
	};

	if (o->quiet || o->form == FORM_DEBUGGER)
		return 0;
	if (o->form == FORM_KTRDUMP)
		text_heading(&t->out, ktrdump, sizeof(ktrdump) / sizeof(ktrdump[0]), '-', 5);
	else
		text_heading(&t->out, tdump, sizeof(tdump) / sizeof(tdump[0]), '=', 5);
	return 0;
}

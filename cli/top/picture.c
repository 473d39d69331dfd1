/* SPDX-License-Identifier: BSD-2-Clause */
/* Screens as text: see picture.h. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <wchar.h>

#include "picture.h"

#define TEXT_MAX 512u	/* bytes of a formatted text */

void picture_begin(struct picture *p, unsigned int rows, unsigned int cols)
{
	p->text.len = 0;
	p->rows = rows;
	p->cols = cols;
	p->row = p->col = 0;
}

void picture_free(struct picture *p)
{
	buf_free(&p->text);
}

/*
 * One character of the text: its bytes and its columns.  Any user may choose a name, so characters
 * that move the cursor or are not of the terminal's encoding are not `*shown`.
 */
static size_t picture_character(const char *text, unsigned int *cols, bool *shown)
{
	mbstate_t state = { 0 };
	wchar_t wide;
	size_t len = mbrtowc(&wide, text, MB_LEN_MAX, &state);
	int width = len && len <= MB_LEN_MAX ? wcwidth(wide) : -1;

	*shown = width > 0;
	*cols = width > 0 ? (unsigned int)width : 1;
	return width > 0 ? len : 1;
}

/* Appends at most `width` columns; returns how many. */
static unsigned int picture_put(struct picture *p, const char *text, unsigned int width)
{
	unsigned int done = 0;

	if (width > p->cols - p->col)
		width = p->cols - p->col;
	while (*text) {
		unsigned int cols;
		bool shown;
		size_t len = picture_character(text, &cols, &shown);

		if (done + cols > width)
			break;
		buf_add(&p->text, shown ? text : "?", len);
		text += len;
		done += cols;
	}
	p->col += done;
	return done;
}

void picture_text(struct picture *p, const char *text)
{
	picture_put(p, text, p->cols);
}

void picture_printf(struct picture *p, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	picture_put(p, text, p->cols);
}

void picture_skip(struct picture *p, unsigned int cols)
{
	while (cols-- > 0 && p->col < p->cols) {
		buf_add(&p->text, " ", 1);
		p->col++;
	}
}

void picture_field(struct picture *p, const char *text, unsigned int width)
{
	picture_skip(p, width - picture_put(p, text, width));
}

static void picture_heat(struct picture *p, enum heat heat)
{
	const char byte = (char)heat;

	buf_add(&p->text, &byte, 1);
}

void picture_share(struct picture *p, double percent, const char *format)
{
	char text[64];

	snprintf(text, sizeof(text), format, percent);
	if (percent <= 2.5) {
		picture_put(p, text, p->cols);
		return;
	}
	picture_heat(p, percent > 10 ? HEAT_HIGH : percent > 5 ? HEAT_MIDDLE : HEAT_LOW);
	picture_put(p, text, p->cols);
	picture_heat(p, HEAT_NONE);
}

unsigned int picture_width(const char *text)
{
	unsigned int width = 0, cols;
	bool shown;

	for (; *text; width += cols)
		text += picture_character(text, &cols, &shown);
	return width;
}

/* Removes blanks at the end of the line. */
bool picture_line(struct picture *p)
{
	while (p->text.len && p->text.data[p->text.len - 1] == ' ')
		p->text.len--;
	buf_add(&p->text, "\n", 1);
	p->col = 0;
	p->row++;
	return p->row < p->rows;
}

static bool char_is_heat(char c)
{
	return c >= HEAT_NONE && c <= HEAT_LAST;
}

size_t picture_run(const char **text, const char *end, enum heat *heat)
{
	const char *from;

	while (*text < end && char_is_heat(**text))
		*heat = (enum heat)*(*text)++;
	for (from = *text; *text < end && !char_is_heat(**text); ++*text)
		continue;
	return (size_t)(*text - from);
}

void picture_plain(const struct picture *p, struct buf *out)
{
	const char *text = p->text.data, *end = text + p->text.len;
	enum heat heat = HEAT_NONE;
	size_t len;

	while (p->text.len && (len = picture_run(&text, end, &heat)) > 0)
		buf_add(out, text - len, len);
	if (p->text.failed)
		out->failed = true;
}

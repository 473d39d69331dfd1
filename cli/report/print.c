/* SPDX-License-Identifier: BSD-2-Clause */
/* See print.h.  A column is a character of UTF-8: bytes that continue one have no column. */
#include <string.h>

#include "print.h"

static bool char_continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

unsigned int print_columns(const char *text)
{
	unsigned int n = 0;

	for (; *text; text++)
		n += !char_continues(*text);
	return n;
}

/* Appends the text up to `width` columns; returns the number of its columns. */
static unsigned int put_columns(struct buf *out, const char *text, unsigned int width)
{
	unsigned int n = 0;

	for (; *text; text++) {
		bool control = (unsigned char)*text < ' ' || *text == 0x7f;

		if (!char_continues(*text) && n++ == width)
			return width;
		buf_add(out, control ? "?" : text, 1);
	}
	return n;
}

unsigned int print_text(struct buf *out, const char *text)
{
	return put_columns(out, text, UINT32_MAX);
}

void print_column(struct buf *out, const char *text, unsigned int width)
{
	bool cut = print_columns(text) > width;
	unsigned int n;

	if (!width)
		return;
	n = put_columns(out, text, cut ? width - 1 : width);
	if (cut)
		buf_add(out, ".", 1);
	for (; !cut && n < width; n++)
		buf_add(out, " ", 1);
}

void print_markup(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		switch (text[i]) {
		case '&': buf_printf(out, "&amp;"); break;
		case '<': buf_printf(out, "&lt;"); break;
		case '>': buf_printf(out, "&gt;"); break;
		case '"': buf_printf(out, "&quot;"); break;
		default: buf_add(out, &text[i], 1);
		}
	}
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* See text.h. */
#include <stdarg.h>
#include <stdio.h>

#include "text.h"

struct text text_begin(char *buf, size_t size)
{
	buf[0] = '\0';
	return (struct text){ .at = buf, .size = size };
}

void text_add(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at + t->used, t->size - t->used, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->used += (size_t)n;
	if (t->used >= t->size)
		t->used = t->size - 1;
}

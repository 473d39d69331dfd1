/* SPDX-License-Identifier: BSD-2-Clause */
/* Readable forms of mangled names: see object.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "object.h"

#define LONGEST	 (16u << 10)	/* longest mangled name that is tried, in bytes */
#define READABLE 4096u		/* … longest readable name, which templates can exceed */

/* A name must not break a line of a report. */
static char *name_cut(char *text)
{
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	if (strlen(text) > READABLE) {
		size_t end = READABLE - 3;

		/* Not inside of a character. */
		while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80)
			end--;
		memcpy(text + end, "...", 4);
	}
	return text;
}

/* NULL: it is not mangled. */
static char *name_readable(const char *name)
{
	/* DMGL_AUTO also knows old styles, which names in C may look like. */
	if ((strncmp(name, "_Z", 2) != 0 && strncmp(name, "_R", 2) != 0 &&
	     strncmp(name, "__Z", 3) != 0) || strnlen(name, LONGEST + 1) > LONGEST)
		return NULL;
	return cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
}

/* "@plt" and "@GLIBC_2.17" are not part of the mangled name. */
static char *name_readable_with_tail(const char *name)
{
	const char *tail = strchr(name, '@');
	char *head = tail ? strndup(name, (size_t)(tail - name)) : NULL;
	char *inner = head ? name_readable(head) : NULL;
	char *whole = NULL;

	if (inner && asprintf(&whole, "%s%s", inner, tail) < 0)
		whole = NULL;
	free(inner);
	free(head);
	return tail ? whole : name_readable(name);
}

char *demangle(struct arena *a, const char *name)
{
	char *readable = name_readable_with_tail(name);
	char *kept = arena_string(a, readable ? readable : name);

	free(readable);
	return kept ? name_cut(kept) : NULL;
}

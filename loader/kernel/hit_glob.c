/* SPDX-License-Identifier: BSD-2-Clause */
/* See hit_glob.h. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "hit_glob.h"

/*
 * Of "[abc]", "[a-z]" or "[!a-z]", behind the bracket: where it ends; NULL: it is no class, so that
 * "[" is a character.
 */
static const char *class_read(const char *from, bool takes[256])
{
	bool inverted = *from == '!';
	unsigned char first, last;

	from += inverted;
	memset(takes, inverted, 256 * sizeof(takes[0]));
	do {
		first = last = (unsigned char)*from++;
		if (first && from[0] == '-' && from[1] != ']') {
			last = (unsigned char)from[1];
			from += 2;
		}
		if (!first || !last)
			return NULL;
		for (unsigned int c = first; c <= last; c++)
			takes[c] = !inverted;
	} while (*from != ']');
	return from + 1;
}

/* Reads the place that a pattern begins with; returns what follows, NULL: it is not complete. */
static const char *place_read(const char *from, bool takes[256])
{
	const char *end = NULL;

	if (*from == '[')
		end = class_read(from + 1, takes);
	if (end)
		return end;
	memset(takes, *from == '?', 256 * sizeof(takes[0]));
	if (*from == '?')
		return from + 1;
	from += *from == '\\';
	if (!*from)
		return NULL;
	takes[(unsigned char)*from] = true;
	return from + 1;
}

int hit_glob_compile(const char *pattern, struct abi_glob *g, uint16_t *length, const char **what)
{
	bool takes[256];

	while (*pattern) {
		if (*pattern == '*') {
			g->stars |= 1ull << *length;
			pattern++;
			continue;
		}
		if (*length >= ABI_GLOB) {
			*what = "the pattern is too long";
			return -EOPNOTSUPP;
		}
		pattern = place_read(pattern, takes);
		if (!pattern) {
			*what = "the pattern's last \"\\\" has no character behind it";
			return -EINVAL;
		}
		for (unsigned int i = 1; i < 256; i++)
			g->takes[i] |= (uint64_t)takes[i] << *length;
		++*length;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* See nearest.h. */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"

static int nearest_fold(char c)
{
	return strchr(" _-.", c) ? '-' : tolower((unsigned char)c);
}

/* The largest distance of a near name: one letter in three, at most three. */
static size_t nearest_limit(size_t len)
{
	return len < 3 ? 1 : len < 9 ? (len + 1) / 3 : 3;
}

static size_t nearer(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Three rows of the usual table: the last two, and the current one. */
static size_t nearest_distance(const char *a, size_t alen, const char *b, size_t blen)
{
	size_t rows[3][NEAREST_MAX + 1], *before = rows[0], *last = rows[1], *now = rows[2];
	size_t *spare;

	for (size_t j = 0; j <= blen; j++)
		last[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		now[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			int x = nearest_fold(a[i - 1]), y = nearest_fold(b[j - 1]);

			now[j] =
				nearer(nearer(last[j], now[j - 1]) + 1, last[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == nearest_fold(b[j - 2]) &&
			    y == nearest_fold(a[i - 2]))
				now[j] = nearer(now[j], before[j - 2] + 1);
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[blen];
}

static int nearest_is_beginning(const char *word, size_t len, const char *name)
{
	size_t i = 0;

	while (i < len && name[i] && nearest_fold(word[i]) == nearest_fold(name[i]))
		i++;
	return i == len;
}

void nearest_begin(struct nearest *n, const char *word)
{
	*n = (struct nearest){ .word = word, .distance = nearest_limit(strlen(word)) + 1 };
}

/* The first of several at the same distance stays; a name that begins with the word is near. */
void nearest_offer(struct nearest *n, const char *name)
{
	size_t wlen = strlen(n->word), len = strlen(name), d;

	if (wlen < 2 || wlen >= NEAREST_MAX || !len || len >= NEAREST_MAX)
		return;
	d = nearest_distance(n->word, wlen, name, len);
	if (wlen >= 4 && nearest_is_beginning(n->word, wlen, name))
		d = nearer(d, 1);
	if (d >= n->distance || d >= len)
		return;
	n->distance = d;
	memcpy(n->name, name, len + 1);
}

const char *nearest_hint(struct nearest *n, const char *prefix)
{
	n->hint[0] = '\0';
	if (n->name[0])
		snprintf(n->hint, sizeof(n->hint), " (did you mean \"%s%s\"?)", prefix, n->name);
	return n->hint;
}

const char *nearest_option(struct nearest *n, const char *word, const struct option *names)
{
	char name[NEAREST_MAX];
	size_t len;

	if (strncmp(word, "--", 2) != 0)
		return "";
	word += 2;
	len = strcspn(word, "=");
	if (len >= sizeof(name))
		return "";
	memcpy(name, word, len);
	name[len] = '\0';
	nearest_begin(n, name);
	for (const struct option *o = names; o->name; o++)
		nearest_offer(n, o->name);
	n->word = word;
	return nearest_hint(n, "--");
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See filter_place.h.  The kernel counts the places in a condition from its second character, so
 * that each caret about a condition stands one place too far to the right.  Its carets about
 * brackets, quotes and terms are exact.  A caret behind the end is moved to the end.
 */
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "filter_place.h"

/* What the caret is at, once it is moved. */
enum caret_at {
	CARET_AT_PLACE,
	CARET_AT_OPERATOR,
	CARET_AT_VALUE,
	CARET_BEHIND_WORD,
};

static const struct {
	const char *message;
	enum caret_at at;
} carets[] = {
	{ "Invalid operator", CARET_AT_OPERATOR },
	{ "Invalid value", CARET_AT_VALUE },
	{ "Expecting string field", CARET_AT_PLACE },
	{ "Expecting numeric field", CARET_AT_PLACE },
	{ "Illegal operation for field type", CARET_AT_PLACE },
	{ "Illegal integer value", CARET_AT_PLACE },
	{ "Field not found", CARET_BEHIND_WORD },
	{ "Function not found", CARET_BEHIND_WORD },
	{ "Operand too long", CARET_BEHIND_WORD },
	{ "Invalid cpulist", CARET_BEHIND_WORD },
};
#define CARETS (sizeof(carets) / sizeof(carets[0]))

static bool char_is_word(char c)
{
	return isalnum((unsigned char)c) || strchr("_.,-", c);
}

/* Nothing stands where an operator or a value is missing at the end. */
static bool end_lacks(enum caret_at at, char last)
{
	return (at == CARET_AT_OPERATOR && (char_is_word(last) || last == ' ')) ||
	       (at == CARET_AT_VALUE && strchr(" =<>~&!", last));
}

/* The beginning of the word, of the string or of the list that ends before `at`. */
static size_t word_begin(const char *filter, size_t at)
{
	char quote = filter[at];

	if (quote == '"' || quote == '\'') {
		do
			at--;
		while (at && filter[at] != quote);
		return at;
	}
	while (at && char_is_word(filter[at - 1]))
		at--;
	return at;
}

size_t filter_place(const char *filter, size_t caret, const char *message)
{
	size_t len = strlen(filter), i = 0;

	if (caret > len)
		caret = len;
	while (i < CARETS && strncmp(message, carets[i].message, strlen(carets[i].message)) != 0)
		i++;
	if (i == CARETS || !caret ||
	    (caret == len && end_lacks(carets[i].at, filter[len - 1])))
		return caret;
	caret--;
	return carets[i].at == CARET_BEHIND_WORD ? word_begin(filter, caret) : caret;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of trace classes as text. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sys/ktr_class.h>

#include "ktrmask.h"
#include "number.h"

#define BETWEEN " \t\n,|"

static const struct {
	const char *name;
	uint32_t bits;
} classes[] = {
#define CLASS(name, bit) { #name, 1u << (bit) },
	KTR_CLASSES(CLASS)
#undef CLASS
	/* Only read, never printed. */
	{ "FS", KTR_FS }, { "CT1", KTR_CT1 }, { "CT2", KTR_CT2 }, { "CT3", KTR_CT3 },
	{ "CT4", KTR_CT4 }, { "CT5", KTR_CT5 }, { "CT6", KTR_CT6 }, { "CT7", KTR_CT7 },
	{ "CT8", KTR_CT8 }, { "all", ~0u }, { "none", 0 },
};
#define NAMED 32	/* the first ones, one for each bit */

static int ktrmask_word(const char *word, uint32_t *bits)
{
	uint64_t number = 0;

	if (word[0] >= '0' && word[0] <= '9') {
		int err = number_parse(word, 0, UINT32_MAX, &number);

		*bits = (uint32_t)number;
		return err ? -EINVAL : 0;
	}
	if (!strncasecmp(word, "KTR_", 4))
		word += 4;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
		if (!strcasecmp(word, classes[i].name)) {
			*bits = classes[i].bits;
			return 0;
		}
	return -EINVAL;
}

int ktrmask_parse(const char *text, uint32_t *mask, char *bad, size_t size)
{
	uint32_t result = 0, bits;
	bool first = true;
	size_t n;

	for (text += strspn(text, BETWEEN); *text; text += n + strspn(text + n, BETWEEN)) {
		bool without = *text == '~' || *text == '-' || *text == '!';
		char word[32];

		n = strcspn(text, BETWEEN);
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		if (n >= sizeof(word) || ktrmask_word(word + without, &bits)) {
			snprintf(bad, size, "%s", word);
			return -EINVAL;
		}
		if (without)
			result = (first ? ~0u : result) & ~bits;
		else
			result |= bits;
		first = false;
	}
	if (first) {
		snprintf(bad, size, "%s", "");
		return -EINVAL;
	}
	*mask = result;
	return 0;
}

void ktrmask_text(uint32_t mask, char *buf, size_t size)
{
	bool without = __builtin_popcount(mask) > 16;
	size_t used = 0;

	snprintf(buf, size, "%s", mask ? "all" : "none");
	if (without)
		mask = ~mask;
	for (unsigned int i = 0; i < NAMED && used < size; i++)
		if (mask & classes[i].bits)
			used += (size_t)snprintf(buf + used, size - used, "%s%s%s", used ? "," : "",
						 without ? "~" : "", classes[i].name);
}

_Static_assert(sizeof(classes) / sizeof(classes[0]) > NAMED, "a name for each bit");

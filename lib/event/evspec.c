/* SPDX-License-Identifier: BSD-2-Clause */
/* The grammar of event specifiers: splitting, folding, class prefixes.  Pure text. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "evspec.h"
#include "probe_name.h"

#include <sys/pmc.h>

struct class_name {
	const char *name;
	uint32_t class;
};

#define CLASS_NAME(name, value) { #name, value },
static const struct class_name class_names[] = { PMC__CLASSES(CLASS_NAME) };

/* One character of the folded alphabet. */
static int evspec_fold(char c)
{
	if (c == ' ' || c == '_' || c == '-' || c == '.')
		return '_';
	return tolower((unsigned char)c);
}

bool evspec_same_n(const char *a, size_t n, const char *b)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!a[i] || !b[i] || evspec_fold(a[i]) != evspec_fold(b[i]))
			return false;
	return b[n] == '\0';
}

bool evspec_same(const char *a, const char *b)
{
	return evspec_same_n(a, strlen(a), b);
}

bool evspec_machine_has(const struct evspec_machine *m, uint32_t class)
{
	unsigned int i;

	for (i = 0; i < m->nclass; i++)
		if (m->class[i] == class)
			return true;
	return false;
}

/* The class of fixed counters stays a valid prefix if one PMU has fixed and general counters. */
static bool class_prefix_valid(const struct evspec_machine *m, uint32_t class)
{
	return evspec_machine_has(m, class) || class == PMC_CLASS_BREAKPOINT ||
	       (class == PMC_CLASS_IAF && evspec_machine_has(m, PMC_CLASS_IAP));
}

/* "tracepoint:SYSTEM:NAME" reads better than "tracepoint-SYSTEM:NAME". */
static bool class_prefix_ends(uint32_t class, char c)
{
	bool colon = class == PMC_CLASS_TRACEPOINT || class == PMC_CLASS_BREAKPOINT;

	return evspec_fold(c) == '_' || (colon && c == ':');
}

/* perf's "mem:ADDRESS". */
static size_t class_prefix_mem(const char *event, int *class)
{
	if (strncmp(event, "mem:", 4) != 0)
		return 0;
	*class = PMC_CLASS_BREAKPOINT;
	return 4;
}

/* Finds "CLASS-"; the longest name wins, so that ARMV8 never hides a longer one. */
static size_t class_prefix_find(const char *event, const struct evspec_machine *m, int *class)
{
	size_t i, best = class_prefix_mem(event, class);

	for (i = 0; i < sizeof(class_names) / sizeof(class_names[0]); i++) {
		size_t n = strlen(class_names[i].name);

		if (n < best || !class_prefix_valid(m, class_names[i].class) ||
		    !evspec_same_n(event, n, class_names[i].name) ||
		    !class_prefix_ends(class_names[i].class, event[n]))
			continue;
		best = n + 1;
		*class = class_names[i].class;
	}
	return best;
}

/* A filter may contain commas: it is the last qualifier. */
static bool pair_is_last(const char *text)
{
	size_t len = strcspn(text, "=,");

	return text[len] == '=' && evspec_same_n(text, len, "filter");
}

/* A second value for one key would have to replace the first one, or be mixed with it. */
static int pairs_check(const struct evspec_pair *pairs, unsigned int n, struct reason *why)
{
	const struct evspec_pair *last = &pairs[n - 1];

	for (unsigned int i = 0; i + 1 < n; i++)
		if (evspec_same(pairs[i].key, last->key) && (pairs[i].value || last->value))
			return deny(why, -EINVAL, "%s is given twice: leave one out", last->key);
	return 0;
}

/* Cuts "a=1,b,c=x" at commas up to `end`, which becomes the string's NUL. */
static int pairs_split(char *text, struct evspec_pair *pairs, unsigned int *count,
		       struct reason *why)
{
	char *next;

	for (*count = 0; text; text = next) {
		struct evspec_pair *p = &pairs[*count];
		char *equals;

		if (*count == EVSPEC_MAX_PAIRS)
			return deny(why, -EINVAL, "more than %u qualifiers or terms",
				    EVSPEC_MAX_PAIRS);
		next = pair_is_last(text) ? NULL : strchr(text, ',');
		if (next)
			*next++ = '\0';
		equals = strchr(text, '=');
		if (equals)
			*equals++ = '\0';
		p->key = text;
		p->value = equals;
		if (pairs_check(pairs, ++*count, why))
			return -EINVAL;
	}
	return 0;
}

/* PMU/terms/ : returns the text after the second slash. */
static int raw_split(struct evspec *spec, char *slash, char **rest, struct reason *why)
{
	char *end = strchr(slash + 1, '/');

	if (!end)
		return deny(why, -EINVAL, "\"%s\": the second / is missing after the terms",
			    spec->text);
	if (slash == spec->text)
		return deny(why, -EINVAL, "\"%s\": the name of a PMU is missing before the /",
			    spec->text);
	if (end[1] != '\0' && end[1] != ',')
		return deny(why, -EINVAL,
			    "\"%s\": \"%s\" after the second /; qualifiers follow a "
			    "comma",
			    spec->text, end + 1);
	if (end == slash + 1)
		return deny(why, -EINVAL, "\"%s\": no terms between the slashes", spec->text);
	*rest = end[1] ? end + 2 : NULL;
	*slash = *end = '\0';
	spec->raw = true;
	spec->event = spec->text;
	return pairs_split(slash + 1, spec->terms, &spec->nterms, why);
}

int evspec_parse(const char *text, const struct evspec_machine *m, struct evspec *spec,
		 struct reason *why)
{
	size_t n = strnlen(text, EVSPEC_MAX + 1);
	char *comma, *slash, *rest = NULL;
	size_t prefix;
	int err;

	memset(spec, 0, offsetof(struct evspec, text));
	spec->class = -1;
	if (n > EVSPEC_MAX)
		return deny(why, -EINVAL, "an event specifier has at most %u characters",
			    EVSPEC_MAX);
	memcpy(spec->text, text, n + 1);

	if (probe_name_is(spec->text)) {
		size_t len = probe_name_length(spec->text);

		rest = spec->text[len] ? spec->text + len + 1 : NULL;
		spec->text[len] = '\0';
		spec->event = spec->text;
		spec->class = PMC_CLASS_PROBE;
		return rest ? pairs_split(rest, spec->quals, &spec->nquals, why) : 0;
	}
	comma = strchr(spec->text, ',');
	slash = strchr(spec->text, '/');
	prefix = class_prefix_find(spec->text, m, &spec->class);
	/* A breakpoint's length follows a slash, too. */
	if (slash && (!comma || slash < comma) && spec->class != PMC_CLASS_BREAKPOINT) {
		spec->class = -1;
		err = raw_split(spec, slash, &rest, why);
		if (err)
			return err;
	} else {
		if (comma) {
			*comma = '\0';
			rest = comma + 1;
		}
		spec->event = spec->text + prefix;
		if (*spec->event == '\0')
			return deny(why, -EINVAL, "\"%s\": the name of an event is missing",
				    text);
	}
	return rest ? pairs_split(rest, spec->quals, &spec->nquals, why) : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* kern.hwpmc.debugflags: its grammar, and the lines it turns on. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/reason.h"
#include "debug.h"
#include "text.h"

#define NAME(id, name) name,
static const char *const groups[DEBUG_GROUPS] = { DEBUG_GROUP_NAMES(NAME) };
static const char *const flags[DEBUG_FLAGS] = { DEBUG_FLAG_NAMES(NAME) };
#undef NAME

struct word {
	const char *at;
	size_t len;
};

/* The bits of the names that the word matches. */
static uint32_t word_match(struct word w, const char *const names[], unsigned int n)
{
	if (w.len == 1 && *w.at == '*')
		return n < 32 ? (1u << n) - 1 : ~0u;
	for (unsigned int i = 0; i < n; i++)
		if (strlen(names[i]) == w.len && !memcmp(names[i], w.at, w.len))
			return 1u << i;
	return 0;
}

static int word_unknown(struct word w, const char *what, const char *const names[], unsigned int n,
			struct reason *why)
{
	char list[320];
	struct text t = text_begin(list, sizeof(list));

	for (unsigned int i = 0; i < n; i++)
		text_add(&t, " %s", names[i]);
	return deny(why, -EINVAL, "\"%.*s\" is no %s of debug messages; %ss are *%s",
		    (int)(w.len < 20 ? w.len : 20), w.at, what, what, list);
}

/* The characters up to `end`, a blank, or the end of the text. */
static struct word word_take(const char **p, char end)
{
	struct word w = { .at = *p };

	while (**p && **p != end && !isspace((unsigned char)**p))
		(*p)++;
	w.len = (size_t)(*p - w.at);
	return w;
}

/* "group=flag,flag" */
static int debug_parse_group(const char **p, uint32_t on[DEBUG_GROUPS], struct reason *why)
{
	struct word group = word_take(p, '=');
	uint32_t which = word_match(group, groups, DEBUG_GROUPS), all = 0;

	if (!which)
		return word_unknown(group, "group", groups, DEBUG_GROUPS, why);
	if (**p != '=')
		return deny(why, -EINVAL, "\"%.*s\" is without flags; write %.*s=flag,flag or "
			    "%.*s=*", (int)group.len, group.at, (int)group.len, group.at,
			    (int)group.len, group.at);
	do {
		struct word flag = ((*p)++, word_take(p, ','));
		uint32_t bit = word_match(flag, flags, DEBUG_FLAGS);

		if (!bit)
			return word_unknown(flag, "flag", flags, DEBUG_FLAGS, why);
		all |= bit;
	} while (**p == ',');
	for (unsigned int i = 0; i < DEBUG_GROUPS; i++)
		if (which >> i & 1)
			on[i] |= all;
	return 0;
}

int debug_parse(const char *text, uint32_t on[DEBUG_GROUPS], struct reason *why)
{
	uint32_t fresh[DEBUG_GROUPS] = { 0 };
	int err = 0;

	while (!err) {
		while (isspace((unsigned char)*text))
			text++;
		if (!*text)
			break;
		err = debug_parse_group(&text, fresh, why);
	}
	if (!err)
		memcpy(on, fresh, sizeof(fresh));
	return err;
}

void debug_say(const struct debug *d, enum debug_group group, enum debug_flag flag,
	       const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	reason_clean(text);
	messages_put(d->messages, LOG_DEBUG, "%s=%s: %s", groups[group], flags[flag], text);
}

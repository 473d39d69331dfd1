/* SPDX-License-Identifier: BSD-2-Clause */
/* See probe_name.h. */
#include <errno.h>
#include <string.h>

#include "lib/base/number.h"
#include "lib/base/wire.h"
#include "probe_name.h"

static const struct {
	const char *word;
	uint32_t kind;
} kinds[] = {
	{ "uprobe", WIRE_PROBE_UPROBE }, { "uretprobe", WIRE_PROBE_URETPROBE },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static size_t kind_find(const char *text)
{
	size_t i = 0, len = strcspn(text, ":");

	while (i < KINDS && (!text[len] || strlen(kinds[i].word) != len ||
			     strncmp(text, kinds[i].word, len)))
		i++;
	return i;
}

bool probe_name_is(const char *text)
{
	return kind_find(text) < KINDS;
}

/* A path may have commas, a symbol has none. */
size_t probe_name_length(const char *text)
{
	const char *symbol = strrchr(text, ':');

	return symbol ? (size_t)(symbol - text) + strcspn(symbol, ",") : strcspn(text, ",");
}

/* "+0x10" or "+16" behind the symbol. */
static int plus_split(struct probe_name *name, struct reason *why)
{
	char *plus = strchr(name->symbol, '+');

	if (!plus)
		return 0;
	*plus++ = '\0';
	if (number_parse(plus, 0, UINT32_MAX, &name->plus))
		return deny(why, -EINVAL, "\"+%s\": an offset is a number of bytes, as +16 or "
			    "+0x10", plus);
	if (name->plus && name->kind == WIRE_PROBE_URETPROBE)
		return deny(why, -EINVAL, "uretprobe counts returns of a function: it takes no "
			    "offset");
	return 0;
}

int probe_name_split(char *text, struct probe_name *name, struct reason *why)
{
	size_t kind = kind_find(text);
	char *last = strrchr(text, ':');

	*name = (struct probe_name){ .kind = kinds[kind].kind, .word = kinds[kind].word };
	name->path = strchr(text, ':') + 1;
	if (last < name->path || last == name->path || !last[1])
		return deny(why, -EINVAL, "\"%s\": write %s:PATH:FUNCTION, as "
			    "%s:/lib/x86_64-linux-gnu/libc.so.6:malloc", text, name->word,
			    name->word);
	*last = '\0';
	name->symbol = last + 1;
	return plus_split(name, why);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* See probe_name.h. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "lib/base/number.h"
#include "lib/base/wire.h"
#include "probe_name.h"

static const struct {
	const char *word, *form;
	uint32_t kind;
} kinds[] = {
	{ "uprobe", "PATH:FUNCTION, as uprobe:/lib/x86_64-linux-gnu/libc.so.6:malloc",
	  WIRE_PROBE_UPROBE },
	{ "uretprobe", "PATH:FUNCTION, as uretprobe:/lib/x86_64-linux-gnu/libc.so.6:malloc",
	  WIRE_PROBE_URETPROBE },
	{ "usdt", "PATH:PROVIDER:NAME, as usdt:/usr/sbin/mysqld:mysql:query__start",
	  WIRE_PROBE_USDT },
	{ "kprobe", "FUNCTION, as kprobe:vfs_read", WIRE_PROBE_KPROBE },
	{ "kretprobe", "FUNCTION, as kretprobe:vfs_read", WIRE_PROBE_KRETPROBE },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static size_t kind_find(const char *text)
{
	size_t i = 0, len = strcspn(text, ":");

	while (i < KINDS && (!text[len] || strlen(kinds[i].word) != len ||
			     strncasecmp(text, kinds[i].word, len)))
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
	if (name->plus && (name->kind == WIRE_PROBE_URETPROBE ||
			   name->kind == WIRE_PROBE_KRETPROBE))
		return deny(why, -EINVAL, "%s counts returns of a function: it takes no offset",
			    name->word);
	return 0;
}

/* Cuts the text at its last colon, and returns what follows; NULL: nothing does. */
static char *name_cut(char *text)
{
	char *last = strrchr(text, ':');

	if (!last || last == text || !last[1])
		return NULL;
	*last = '\0';
	return last + 1;
}

static bool parts_split(struct probe_name *name, char *rest)
{
	if (name->kind == WIRE_PROBE_KPROBE || name->kind == WIRE_PROBE_KRETPROBE) {
		name->symbol = rest;
		return *rest && !strchr(rest, ':');
	}
	name->path = rest;
	name->symbol = name_cut(rest);
	if (name->symbol && name->kind == WIRE_PROBE_USDT)
		name->provider = name_cut(rest);
	return name->symbol && (name->provider || name->kind != WIRE_PROBE_USDT);
}

int probe_name_split(char *text, struct probe_name *name, struct reason *why)
{
	size_t kind = kind_find(text);

	*name = (struct probe_name){ .kind = kinds[kind].kind, .word = kinds[kind].word };
	if (!parts_split(name, strchr(text, ':') + 1))
		return deny(why, -EINVAL, "no place of a %s is named: write %s:%s", name->word,
			    name->word,
			    kinds[kind].form);
	return name->provider ? 0 : plus_split(name, why);
}

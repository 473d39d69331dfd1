/* SPDX-License-Identifier: BSD-2-Clause */
/* See event_format.h.  Lines are "\tfield:TYPE NAME[N];\toffset:…;\tsize:…;\tsigned:…;". */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pmclog.h>

#include "event_format.h"
#include "tracefs.h"

#define LINE   "\tfield:"
#define COMMON 8u			/* bytes of the fields that all events have */

static bool type_has(const char *type, size_t len, const char *word)
{
	const char *found = strstr(type, word);

	return found && found + strlen(word) <= type + len;
}

/* Elements of an array, by the name of their type; a type that is not known is bytes. */
static unsigned int type_size(const char *type, size_t len)
{
	static const struct {
		const char *word;
		unsigned int size;
	} types[] = {
		{ "char", 1 }, { "u8", 1 }, { "s8", 1 }, { "int8", 1 }, { "bool", 1 },
		{ "u16", 2 }, { "s16", 2 }, { "int16", 2 }, { "short", 2 }, { "u32", 4 },
		{ "s32", 4 }, { "int32", 4 }, { "u64", 8 }, { "s64", 8 }, { "int64", 8 },
		{ "long", 8 }, { "int", 4 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (type_has(type, len, types[i].word))
			return types[i].size;
	return 1;
}

/* The type is the line up to the name, and the name ends at `end`. */
static void field_describe(struct event_field *f, const char *line, size_t type, const char *end)
{
	f->behind = type_has(line, type, "__rel_loc");
	f->elsewhere = f->behind || type_has(line, type, "__data_loc");
	f->is_array = f->elsewhere || end[-1] == ']';
	f->is_text = f->is_array && type_has(line, type, "char");
	f->is_bytes = type_has(line, type, "unsigned char");
	f->is_address = !f->is_array && type_has(line, type, "*");
	f->element = f->is_array ? type_size(line, type) : f->size;
}

static void field_read(struct event_field *f, const char *line)
{
	const char *end = strchr(line, ';'), *name, *behind = end;
	unsigned int is_signed;

	*f = (struct event_field){ .size = 0 };
	if (!end || sscanf(end, ";\toffset:%u;\tsize:%u;\tsigned:%u;", &f->offset, &f->size,
			   &is_signed) != 3)
		return;
	f->is_signed = is_signed;
	if (end > line && end[-1] == ']')
		while (behind > line && *behind != '[')
			behind--;
	for (name = behind; name > line && name[-1] != ' '; name--)
		;
	field_describe(f, line, (size_t)(name - line), end);
	if ((size_t)(behind - name) < sizeof(f->name))
		memcpy(f->name, name, (size_t)(behind - name));
}

bool event_format_next(const char **text, struct event_field *f)
{
	const char *line = *text;

	while ((line = strstr(line, LINE))) {
		line += strlen(LINE);
		field_read(f, line);
		if (strncmp(f->name, "common_", 7) != 0)
			break;
	}
	if (line)
		*text = line;
	return line;
}

int event_format_shape(const char *text, bool call, struct abi_record_shape *shape,
		       struct reason *why)
{
	unsigned int n = 0;
	struct event_field f;

	*shape = (struct abi_record_shape){ .bytes = COMMON };
	while (event_format_next(&text, &f)) {
		if (++n > PMCLOG_FIELDS_MAX)
			return deny(why, -EOPNOTSUPP, "raw: the event has more than %u fields",
				    PMCLOG_FIELDS_MAX);
		if (!*f.name || f.offset > ABI_RAW || f.size > ABI_RAW - f.offset)
			return deny(why, -EOPNOTSUPP, "raw: a field of the event is unknown, or "
				    "more than %u bytes from the first", ABI_RAW);
		if (f.elsewhere && call)
			continue;
		if (f.offset + f.size > shape->bytes)
			shape->bytes = f.offset + f.size;
		if (!f.elsewhere)
			continue;
		if (shape->n == ABI_RECORD_WORDS)
			return deny(why, -EOPNOTSUPP, "raw: the event has more than %u texts and "
				    "arrays", ABI_RECORD_WORDS);
		shape->behind |= (uint32_t)f.behind << shape->n;
		shape->word[shape->n++] = (uint16_t)f.offset;
	}
	return 0;
}

int event_format_each(const char *name, void (*fn)(void *arg, const struct event_field *f),
		      void *arg, struct reason *why)
{
	struct event_field f;
	const char *at;
	char *text;
	int err = tracefs_format(name, &text, why);

	at = text;
	while (!err && event_format_next(&at, &f))
		fn(arg, &f);
	free(text);
	return err;
}

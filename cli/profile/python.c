/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The image of Python frames, whose offsets are the log's addresses: the number of a code object,
 * and a line.  The log names code objects.  Equal functions of several processes are one symbol.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <pmclog.h>

#include "lib/base/array.h"
#include "lib/base/index.h"
#include "object.h"

struct python_name {
	uint32_t code;
	const char *file;		/* NULL: not known */
	const struct symbol *symbol;
};

struct python_names {
	struct python_name *list;
	size_t n, room;
	struct index codes;		/* of the list, by number … */
	struct index functions;		/* … by name and file: the first one of each */
};

/* --- searches --------------------------------------------------------------------------------- */

struct python_search {
	const struct python_names *names;
	uint32_t code;
	const char *name, *file;
};

static bool python_has_code(const void *arg, uint32_t position)
{
	const struct python_search *s = arg;

	return s->names->list[position].code == s->code;
}

static bool python_has_function(const void *arg, uint32_t position)
{
	const struct python_search *s = arg;
	const struct python_name *at = &s->names->list[position];

	return at->file && strcmp(at->file, s->file) == 0 &&
	       strcmp(at->symbol->name, s->name) == 0;
}

static uint32_t python_code_hash(uint32_t code)
{
	return index_fold(index_mix(0, code));
}

static const struct python_name *python_find(const struct object *o, uint64_t offset)
{
	const struct python_search s = { .names = o->python, .code = PMCLOG_PC_TO_CODE(offset) };
	const uint32_t at = index_find(&o->python->codes, python_code_hash(s.code),
				       python_has_code, &s);

	return at == INDEX_NONE ? NULL : &o->python->list[at];
}

/* --- names ------------------------------------------------------------------------------------ */

static int python_add(struct object *o, const struct python_name *name)
{
	struct python_names *p = o->python;

	if (array_reserve(p->list, p->room, p->n + 1) != 0 ||
	    index_add(&p->codes, python_code_hash(name->code), (uint32_t)p->n) != 0)
		return -ENOMEM;
	p->list[p->n++] = *name;
	o->generation++;
	return 0;
}

/* A name that is shown as it is. */
static int python_add_stand_in(struct object *o, uint32_t code, const char *text)
{
	struct python_name name = {
		.code = code, .symbol = symbols_get(o->symbols, &o->image, text, code, 0, false),
	};

	return name.symbol ? python_add(o, &name) : -ENOMEM;
}

static int python_add_function(struct object *o, const struct python_search *s)
{
	struct python_names *p = o->python;
	const uint32_t hash = index_fold(index_hash_bytes(0, s->name, strlen(s->name)));
	const uint32_t at = index_find(&p->functions, hash, python_has_function, s);
	struct python_name name = { .code = s->code };

	if (at != INDEX_NONE) {
		name = p->list[at];
		name.code = s->code;
		return python_add(o, &name);
	}
	name.file = arena_string(&o->symbols->arena, s->file);
	name.symbol = symbols_get(o->symbols, &o->image, s->name, s->code, 0, false);
	if (!name.file || !name.symbol || index_add(&p->functions, hash, (uint32_t)p->n) != 0)
		return -ENOMEM;
	return python_add(o, &name);
}

struct image *symbols_python(struct symbols *s)
{
	struct object *o = symbols_special(s, SYMBOLS_PYTHON, OBJECT_PYTHON);

	if (!o || o->python)
		return o ? &o->image : NULL;
	o->python = calloc(1, sizeof(*o->python));
	if (!o->python || python_add_stand_in(o, PMCLOG_CODE_MISSING, "[cut: Python frames]") ||
	    python_add_stand_in(o, PMCLOG_CODE_UNKNOWN, "[unknown]"))
		return NULL;
	return &o->image;
}

int symbols_add_code(struct symbols *s, uint64_t offset, const char *text)
{
	struct object *o = (struct object *)symbols_python(s);
	const size_t prefix = strlen(PMCLOG_CODE_PREFIX);
	const char *tab = strchr(text, '\t');
	char shown[2 * PATH_MAX];
	struct python_search search = { .name = shown, .code = PMCLOG_PC_TO_CODE(offset) };

	if (!o)
		return -ENOMEM;
	search.names = o->python;
	if (!tab || strncmp(text, PMCLOG_CODE_PREFIX, prefix) || python_find(o, offset))
		return 0;
	text += prefix;
	search.file = tab + 1;
	snprintf(shown, sizeof(shown), "%.*s (%s)", (int)(tab - text), text,
		 path_name(search.file));
	return python_add_function(o, &search);
}

const struct symbol *python_symbol(const struct object *o, uint64_t offset)
{
	const struct python_name *name = python_find(o, offset);

	return name ? name->symbol : NULL;
}

void python_line(const struct object *o, uint64_t offset, struct frame *frame)
{
	const struct python_name *name = python_find(o, offset);

	frame->file = name ? name->file : NULL;
	frame->line = frame->file ? PMCLOG_PC_TO_LINE(offset) : 0;
}

void python_free(struct object *o)
{
	if (!o->python)
		return;
	index_free(&o->python->codes);
	index_free(&o->python->functions);
	free(o->python->list);
	free(o->python);
	o->python = NULL;
}

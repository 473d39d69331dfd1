/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines and inlined functions.  libdw would look for the unit of an address in .debug_aranges,
 * which not all compilers write, and walk through the unit's tree for each address anew: here the
 * ranges of all units are sorted once, those of a unit's functions when its first address is asked
 * for, and what is inlined in a function likewise.
 *
 * Offsets in a file may lead anywhere: the walk only goes forwards, and not deeper than code nests.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>

#include "dies.h"
#include "lines.h"
#include "object.h"

#define DEPTH_MOST  256u
#define SPANS_MOST  (16u << 20)	/* of one table */
#define SCOPE_NONE  UINT32_MAX

/* A function, or one that is inlined in another scope. */
struct scope {
	Dwarf_Off die;
	uint32_t outer;		/* SCOPE_NONE: it is not inlined */
};

/* One with code of its own. */
struct function {
	Dwarf_Off die;
	const uint8_t *body;	/* NULL: nothing is in it */
	struct scope *scopes;	/* itself, then what is inlined */
	size_t nscopes, scopes_room;
	struct spans spans;	/* of what is inlined */
	bool opened;
};

struct unit {
	Dwarf_Die die;		/* its lines and ranges */
	Dwarf_Die body;		/* its functions: in another file, if it is split */
	struct lines lines;	/* of the die, if `lined` */
	struct dies dies;	/* of the body */
	struct function *functions;
	size_t nfunctions, functions_room;
	struct spans spans;	/* of the functions */
	bool opened, nested, types, lined;
};

struct dwarf {
	Dwarf *debug;
	uint64_t bias;		/* libdwfl's addresses less those of the debug information */
	struct unit *units;
	size_t nunits, units_room;
	struct spans spans;	/* of the units */
	struct table paths;
};

/* A file's name that is relative to its unit's folder, and what both make. */
struct path {
	const char *folder, *name;	/* compared as pointers: libdw has each once */
	const char *whole;
};

/* --- units ------------------------------------------------------------------------------- */

static int add_ranges(struct spans *spans, Dwarf_Die *die, uint32_t rank, uint32_t item)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int err = 0;

	while (!err && spans->n < SPANS_MOST &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		err = spans_add(spans, (struct span){ start, end, rank, item });
	return err;
}

static int index_units(struct dwarf *d)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	struct unit *units;
	Dwarf_Die die;
	int err = 0;

	while (!err && dwarf_get_units(d->debug, cu, &cu, &version, &type, &die, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		units = d->nunits < UINT32_MAX ? grow(d->units, &d->units_room, d->nunits + 1,
						      sizeof(*units)) : NULL;
		if (!units)
			return -ENOMEM;
		d->units = units;
		units[d->nunits] = (struct unit){ .die = die, .body = die };
		err = add_ranges(&d->spans, &die, (uint32_t)d->nunits, (uint32_t)d->nunits);
		d->nunits++;
	}
	return err ? err : spans_sort(&d->spans);
}

/*
 * The shared file of debug files that were made smaller: libdw would look for it by any name once
 * it is needed, so without it nothing is read.
 */
static bool alternate_fits(struct object *o, Dwarf *debug)
{
	const char *name;
	const void *wanted, *id;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(debug, &name, &wanted);
	Dwarf *alternate;

	if (n == 0)
		return true;
	alternate = n > 0 && o->alternate ? dwarf_getalt(debug) : NULL;
	return alternate && dwelf_elf_gnu_build_id(dwarf_getelf(alternate), &id) == n &&
	       memcmp(id, wanted, (size_t)n) == 0;
}

bool dwarf_open(struct object *o)
{
	Dwarf_Addr bias;
	Dwarf *debug;

	if (o->dwarf_tried)
		return o->dwarf;
	o->dwarf_tried = true;
	object_open(o);
	debug = o->module ? dwfl_module_getdwarf(o->module, &bias) : NULL;
	if (!debug || !alternate_fits(o, debug))
		return false;
	o->dwarf = calloc(1, sizeof(*o->dwarf));
	if (!o->dwarf)
		return false;
	o->dwarf->debug = debug;
	o->dwarf->bias = bias;
	if (index_units(o->dwarf) != 0 || !o->dwarf->spans.n)
		dwarf_close(o);
	o->image.debug = o->dwarf;
	return o->dwarf;
}

static void close_unit(struct unit *u)
{
	for (size_t i = 0; i < u->nfunctions; i++) {
		free(u->functions[i].scopes);
		spans_free(&u->functions[i].spans);
	}
	free(u->functions);
	spans_free(&u->spans);
	dies_close(&u->dies);
	lines_close(&u->lines);
}

void dwarf_close(struct object *o)
{
	struct dwarf *d = o->dwarf;

	for (size_t i = 0; d && i < d->nunits; i++)
		close_unit(&d->units[i]);
	if (d) {
		free(d->units);
		spans_free(&d->spans);
		table_free(&d->paths);
	}
	free(d);
	o->dwarf = NULL;
}

/* --- functions of a unit ----------------------------------------------------------------- */

/* Entries below one, forwards: functions of a unit, or what is inlined in a function. */
struct walk {
	struct unit *unit;
	struct function *function;	/* NULL: functions are looked for */
	bool types;
	int err;
};

static const uint8_t *walk(struct walk *w, const uint8_t *at, uint32_t outer, unsigned int depth);

static bool libdw_die(const struct walk *w, const struct die *die, Dwarf_Die *theirs)
{
	return dwarf_offdie(dwarf_cu_getdwarf(w->unit->body.cu), dies_offset(&w->unit->dies, die),
			    theirs);
}

/* A declaration has no ranges, nor has what all copies of an inlined function have in common. */
static void add_function(struct walk *w, const struct die *die)
{
	struct unit *u = w->unit;
	size_t spans = u->spans.n;
	struct function *functions;
	Dwarf_Die theirs;

	if (!die->code || u->nfunctions >= SPANS_MOST || !libdw_die(w, die, &theirs))
		return;
	functions = grow(u->functions, &u->functions_room, u->nfunctions + 1, sizeof(*functions));
	if (!functions) {
		w->err = -ENOMEM;
		return;
	}
	u->functions = functions;
	w->err = add_ranges(&u->spans, &theirs, (uint32_t)u->nfunctions, (uint32_t)u->nfunctions);
	if (u->spans.n > spans)
		functions[u->nfunctions++] = (struct function){
			.die = dwarf_dieoffset(&theirs),
			.body = die->children ? die->after : NULL };
}

/* The scope's number; SCOPE_NONE: it has no code. */
static uint32_t add_scope(struct walk *w, const struct die *die, uint32_t outer)
{
	struct function *f = w->function;
	uint32_t number = (uint32_t)f->nscopes;
	size_t spans = f->spans.n;
	struct scope *scopes;
	Dwarf_Die theirs;

	if (!die->code || f->nscopes >= SPANS_MOST || !libdw_die(w, die, &theirs))
		return SCOPE_NONE;
	scopes = grow(f->scopes, &f->scopes_room, f->nscopes + 1, sizeof(*scopes));
	if (!scopes) {
		w->err = -ENOMEM;
		return SCOPE_NONE;
	}
	f->scopes = scopes;
	/* Inner ones come later, which makes their rank higher. */
	w->err = add_ranges(&f->spans, &theirs, number, number);
	if (f->spans.n == spans)
		return SCOPE_NONE;
	scopes[f->nscopes++] = (struct scope){ dwarf_dieoffset(&theirs), outer };
	return number;
}

/* May there be code in it?  Types of C and C++ only have declarations. */
static bool enters(struct walk *w, const struct die *die, uint32_t *outer)
{
	switch (die->tag) {
	case DW_TAG_subprogram:
		if (!w->function)
			add_function(w, die);
		return false;
	case DW_TAG_inlined_subroutine:
		if (w->function)
			*outer = add_scope(w, die, *outer);
		return !w->function || *outer != SCOPE_NONE;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return w->types;
	default:
		return false;
	}
}

/* From `at` to the end of those beside it; what is behind that, or NULL. */
static const uint8_t *walk(struct walk *w, const uint8_t *at, uint32_t outer, unsigned int depth)
{
	const struct dies *d = &w->unit->dies;
	struct die die;

	while (dies_read(d, at, &die)) {
		uint32_t inner = outer;

		if (enters(w, &die, &inner) && die.children && depth < DEPTH_MOST)
			at = walk(w, die.after, inner, depth + 1);
		else
			at = dies_skip(d, &die);
		if (w->err || !at)
			return NULL;
	}
	return die.after;
}

static bool types_have_code(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return false;
	default:
		return true;
	}
}

/* libdw opens the file of a split unit by whatever name there is: it must be a file, and known. */
static bool may_split(Dwarf_Die *unit)
{
	Dwarf_Attribute attr;
	const char *folder, *name;
	char path[4096];
	struct stat st;

	name = dwarf_formstring(dwarf_attr(unit, DW_AT_dwo_name, &attr));
	if (!name)
		name = dwarf_formstring(dwarf_attr(unit, DW_AT_GNU_dwo_name, &attr));
	if (!name)
		return false;
	folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
	if (name[0] == '/' || !folder)
		folder = "";
	snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name);
	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_uid == 0 || st.st_uid == geteuid());
}

static void open_unit(struct unit *u)
{
	struct walk w = { .unit = u };
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die, sub;
	struct die body;

	u->opened = true;
	if (may_split(&u->die) && dwarf_cu_info(u->die.cu, &version, &type, &die, &sub, NULL, NULL,
						NULL) == 0 && sub.addr)
		u->body = sub;
	/* The files of a split unit are in a table beside it. */
	u->lined = u->body.cu == u->die.cu && lines_open(&u->lines, &u->die) == 0;
	if (dies_open(&u->dies, &u->body) != 0)
		return;
	u->types = w.types = types_have_code(&u->body);
	if (dies_read(&u->dies, u->body.addr, &body) && body.children)
		walk(&w, body.after, SCOPE_NONE, 0);
	/* What was found before memory ran out is right. */
	if (spans_sort(&u->spans) != 0)
		spans_free(&u->spans);
}

/* Functions within functions are rare, and only looked for where an address has no function. */
static void open_nested(struct unit *u)
{
	struct walk w = { .unit = u, .types = u->types };
	size_t outermost = u->nfunctions;

	u->nested = true;
	for (size_t i = 0; i < u->nfunctions && !w.err; i++)
		if (u->functions[i].body)
			walk(&w, u->functions[i].body, SCOPE_NONE, 0);
	if (u->nfunctions > outermost && spans_sort(&u->spans) != 0)
		spans_free(&u->spans);
}

static void open_function(struct unit *u, struct function *f)
{
	struct walk w = { .unit = u, .function = f, .types = u->types };

	f->opened = true;
	f->scopes = grow(NULL, &f->scopes_room, 1, sizeof(*f->scopes));
	if (!f->scopes)
		return;
	f->scopes[f->nscopes++] = (struct scope){ f->die, SCOPE_NONE };
	if (f->body)
		walk(&w, f->body, 0, 0);
	if (spans_sort(&f->spans) != 0)
		spans_free(&f->spans);
}

/* --- addresses --------------------------------------------------------------------------- */

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr));
	return name ? name : dwarf_diename(die);
}

static Dwarf_Word number_of(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, attribute, &attr), &value) == 0 ? value : 0;
}

static bool same_path(const void *item, const void *key)
{
	const struct path *a = item, *b = key;

	return a->folder == b->folder && a->name == b->name;
}

static const char *whole_path(struct object *o, struct unit *u, const char *name)
{
	struct path key = { .name = name }, *path;
	struct table *paths = &o->dwarf->paths;
	struct arena *arena = &o->symbols->arena;
	Dwarf_Attribute attr;
	uint64_t hash;
	size_t size;
	char *whole;

	if (!name || name[0] == '/')
		return name;
	key.folder = dwarf_formstring(dwarf_attr(&u->die, DW_AT_comp_dir, &attr));
	if (!key.folder)
		return name;
	hash = index_mix((uintptr_t)key.folder, (uintptr_t)name);
	path = table_find(paths, hash, same_path, &key);
	if (path)
		return path->whole;
	size = strlen(key.folder) + strlen(name) + 2;
	path = arena_alloc(arena, sizeof(*path));
	whole = arena_alloc(arena, size);
	if (!path || !whole)
		return name;
	snprintf(whole, size, "%s/%s", key.folder, name);
	key.whole = whole;
	*path = key;
	/* Without memory it is made again. */
	(void)table_add(paths, hash, path);
	return whole;
}

/* A file of the unit's own table, in its folder as libdw would have it. */
static const char *lined_file(struct object *o, struct unit *u, uint64_t number)
{
	struct lines *l = &u->lines;
	struct line_file *file = number < l->nfiles ? &l->files[number] : NULL;
	const char *folder, *name;
	size_t size;
	char *path;

	if (!file || file->whole)
		return file ? file->whole : NULL;
	name = file->name;
	folder = file->folder < l->nfolders && *name != '/' ?
		l->folders[file->folder] : NULL;
	if (folder) {
		size = strlen(folder) + strlen(name) + 2;
		path = arena_alloc(&o->symbols->arena, size);
		if (path)
			snprintf(path, size, "%s/%s", folder, name);
		name = path ? path : name;
	}
	file->whole = whole_path(o, u, name);
	return file->whole;
}

static const char *file_of(struct object *o, struct unit *u, Dwarf_Word number)
{
	Dwarf_Files *files;
	size_t n;

	if (u->lined)
		return lined_file(o, u, number);
	if (dwarf_getsrcfiles(&u->body, &files, &n) != 0 &&
	    dwarf_getsrcfiles(&u->die, &files, &n) != 0)
		return NULL;
	return number < n ? whole_path(o, u, dwarf_filesrc(files, number, NULL, NULL)) : NULL;
}

static void line_of(struct object *o, struct unit *u, uint64_t pc, struct dwarf_frame *frame)
{
	unsigned int file;
	Dwarf_Line *line;
	int number = 0;

	if (u->lined) {
		if (lines_find(&u->lines, pc, &file, &frame->line))
			frame->file = lined_file(o, u, file);
		return;
	}
	line = dwarf_getsrc_die(&u->die, pc);
	if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
		return;
	frame->file = whole_path(o, u, dwarf_linesrc(line, NULL, NULL));
	frame->line = (unsigned int)number;
}

/* From the innermost scope outwards; where each was called is where the next one is. */
static size_t scope_frames(struct object *o, struct unit *u, const struct function *f,
			   uint64_t pc, struct dwarf_frame *frames, size_t room)
{
	Dwarf *debug = dwarf_cu_getdwarf(u->body.cu);
	const struct span *span = spans_find(&f->spans, pc);
	uint32_t scope = span ? span->item : 0;
	size_t n = 0;

	if (!f->nscopes)
		return 0;

	while (scope != SCOPE_NONE && n < room) {
		const struct scope *s = &f->scopes[scope];
		struct dwarf_frame *frame = &frames[n++];
		Dwarf_Addr start, end;
		Dwarf_Die die;

		if (!dwarf_offdie(debug, s->die, &die))
			break;
		frame->name = name_of(&die);
		frame->inlined = s->outer != SCOPE_NONE;
		if (!frame->inlined && dwarf_lowpc(&die, &start) == 0) {
			frame->start = start;
			if (dwarf_highpc(&die, &end) == 0 && end > start)
				frame->size = end - start;
		}
		scope = s->outer;
		if (scope == SCOPE_NONE || n == room)
			break;
		frames[n] = (struct dwarf_frame){ 0 };
		frames[n].line = (unsigned int)number_of(&die, DW_AT_call_line);
		if (frames[n].line)
			frames[n].file = file_of(o, u, number_of(&die, DW_AT_call_file));
	}
	return n;
}

static struct function *function_of(struct unit *u, uint64_t pc)
{
	const struct span *span;
	struct function *f;

	if (!u->opened)
		open_unit(u);
	span = spans_find(&u->spans, pc);
	if (!span && !u->nested) {
		open_nested(u);
		span = spans_find(&u->spans, pc);
	}
	f = span ? &u->functions[span->item] : NULL;
	if (f && !f->opened)
		open_function(u, f);
	return f;
}

size_t dwarf_frames(struct object *o, uint64_t address, struct dwarf_frame *frames, size_t room)
{
	struct dwarf *d = o->dwarf;
	uint64_t pc = address + o->bias - d->bias;
	const struct span *span = spans_find(&d->spans, pc);
	struct unit *u = span ? &d->units[span->item] : NULL;
	struct function *f;
	size_t n;

	if (!u)
		return 0;
	frames[0] = (struct dwarf_frame){ 0 };
	f = function_of(u, pc);
	line_of(o, u, pc, &frames[0]);
	n = f ? scope_frames(o, u, f, pc, frames, room) : 0;
	for (size_t i = 0; i < n; i++)
		frames[i].start += frames[i].inlined ? 0 : d->bias - o->bias;
	return n ? n : frames[0].line != 0;
}

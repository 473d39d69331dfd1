/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inlined functions and source lines: entries (DIEs) are read with libdw, line tables by lines.c.
 *
 * An address is found in three steps, each prepared when it is first needed:
 *
 *   file      the ranges of all units, sorted once: .debug_aranges is optional, and some compilers
 *             do not write it
 *   unit      the ranges of its functions, sorted when its first address is asked for, and its
 *             line table (lines.h)
 *   function  a walk through its entry down to the innermost inlined function
 *
 * For example 0x1234 lies in unit 7, there in main(), and within main() in a copy of twice() that
 * line 30 calls: the frames are twice() at the line of 0x1234, then main() at line 30.
 *
 * Offsets in a damaged file may lead anywhere.  libdw only moves forwards from entry to entry, and
 * the walks here stop at DEPTH_MOST levels.
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

#include "lib/base/array.h"
#include "lines.h"
#include "object.h"

#define DEPTH_MOST  256u
#define SPANS_MOST  (16u << 20)	/* of one table */

struct unit {
	Dwarf_Die die;		/* its lines and ranges */
	Dwarf_Die body;		/* its functions: in another file, if it is split */
	struct line_table lines;	/* of the die, if `lined` */
	Dwarf_Die *functions;
	size_t nfunctions, functions_room;
	struct spans spans;	/* of the functions */
	bool opened, nested, types, lined;
};

struct dwarf {
	Dwarf *debug;
	uint64_t bias;		/* libdwfl's addresses minus the debug information's */
	struct unit *units;
	size_t nunits, units_room;
	struct spans spans;	/* of the units */
	struct item_table paths;
};

/* A file name relative to its unit's folder, and the whole path. */
struct path {
	const char *folder, *name;	/* compared as pointers: libdw has each once */
	const char *whole;
};

/* --- units ------------------------------------------------------------------------------- */

static int spans_add_die(struct spans *spans, Dwarf_Die *die, uint32_t rank, uint32_t item)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int err = 0;

	while (!err && spans->n < SPANS_MOST &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		err = spans_add(spans, (struct span){ start, end, rank, item });
	return err;
}

static int units_index(struct dwarf *d)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die;
	int err = 0;

	while (!err && dwarf_get_units(d->debug, cu, &cu, &version, &type, &die, NULL) == 0) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		if (d->nunits == UINT32_MAX ||
		    array_reserve(d->units, d->units_room, d->nunits + 1) != 0)
			return -ENOMEM;
		d->units[d->nunits] = (struct unit){ .die = die, .body = die };
		err = spans_add_die(&d->spans, &die, (uint32_t)d->nunits, (uint32_t)d->nunits);
		d->nunits++;
	}
	return err ? err : spans_sort(&d->spans);
}

/*
 * Debug files may share a file (dwz).  libdw would open it under whatever name the debug file has,
 * so debug information is read only if that file was found and checked before.
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
	if (units_index(o->dwarf) != 0 || !o->dwarf->spans.n)
		dwarf_close(o);
	o->image.debug = o->dwarf;
	return o->dwarf;
}

static void unit_close(struct unit *u)
{
	lines_close(&u->lines);
	free(u->functions);
	spans_free(&u->spans);
}

void dwarf_close(struct object *o)
{
	struct dwarf *d = o->dwarf;

	for (size_t i = 0; d && i < d->nunits; i++)
		unit_close(&d->units[i]);
	if (d) {
		free(d->units);
		spans_free(&d->spans);
		item_table_free(&d->paths);
	}
	free(d);
	o->dwarf = NULL;
}

/* --- functions of a unit ----------------------------------------------------------------- */

/* Declarations have no ranges, nor has the abstract entry of an inlined function. */
static int unit_add_function(struct unit *u, Dwarf_Die *die)
{
	const uint32_t number = (uint32_t)u->nfunctions;
	size_t spans = u->spans.n;
	int err;

	if (u->nfunctions >= SPANS_MOST)
		return 0;
	if (array_reserve(u->functions, u->functions_room, u->nfunctions + 1) != 0)
		return -ENOMEM;
	err = spans_add_die(&u->spans, die, number, number);
	if (u->spans.n > spans)
		u->functions[u->nfunctions++] = *die;
	return err;
}

static bool tag_is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Can functions be defined in it?  In types of C and C++ they are only declared. */
static bool tag_may_define(const struct unit *u, int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return u->types;
	default:
		return tag_is_block(tag);
	}
}

/* Adds the functions below an entry, but none within another. */
static int unit_add_functions(struct unit *u, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;
	int err = 0, end = dwarf_child(parent, &die);

	while (!err && end == 0) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram)
			err = unit_add_function(u, &die);
		else if (tag_may_define(u, tag) && depth < DEPTH_MOST)
			err = unit_add_functions(u, &die, depth + 1);
		end = dwarf_siblingof(&die, &die);
	}
	return err;
}

static bool unit_types_have_code(Dwarf_Die *unit)
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

/* libdw opens a split unit's file under any name: it must be a regular file, of root or ours. */
static bool unit_may_split(Dwarf_Die *unit)
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

static void unit_open(struct unit *u)
{
	Dwarf_Half version;
	uint8_t type;
	Dwarf_Die die, sub;

	u->opened = true;
	if (unit_may_split(&u->die) && dwarf_cu_info(u->die.cu, &version, &type, &die, &sub, NULL,
						     NULL, NULL) == 0 && sub.addr)
		u->body = sub;
	/* The files of a split unit are in a table beside it. */
	u->lined = u->body.cu == u->die.cu && lines_open(&u->lines, &u->die) == 0;
	u->types = unit_types_have_code(&u->body);
	/* If memory runs out, the functions that were found so far are right. */
	(void)unit_add_functions(u, &u->body, 0);
	if (spans_sort(&u->spans) != 0)
		spans_free(&u->spans);
}

/* Functions within functions are rare: looked for where an address belongs to no other. */
static void unit_open_nested(struct unit *u)
{
	size_t outermost = u->nfunctions;
	int err = 0;

	u->nested = true;
	for (size_t i = 0; i < u->nfunctions && !err; i++) {
		Dwarf_Die function = u->functions[i];	/* the array may move */

		err = unit_add_functions(u, &function, 0);
	}
	if (u->nfunctions > outermost && spans_sort(&u->spans) != 0)
		spans_free(&u->spans);
}

/* --- addresses --------------------------------------------------------------------------- */

static const char *die_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr));
	return name ? name : dwarf_diename(die);
}

static Dwarf_Word die_number(Dwarf_Die *die, unsigned int attribute)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, attribute, &attr), &value) == 0 ? value : 0;
}

static bool path_is(const void *item, const void *key)
{
	const struct path *a = item, *b = key;

	return a->folder == b->folder && a->name == b->name;
}

static const char *path_whole(struct object *o, struct unit *u, const char *name)
{
	struct path key = { .name = name }, *path;
	struct item_table *paths = &o->dwarf->paths;
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
	path = item_table_find(paths, hash, path_is, &key);
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
	/* If this fails, the next call makes the name again. */
	(void)item_table_add(paths, hash, path);
	return whole;
}

/* A file of the unit's own table, in its folder as libdw would have it. */
static const char *unit_lined_file(struct object *o, struct unit *u, uint64_t number)
{
	struct line_table *l = &u->lines;
	struct line_file *file = number < l->nfiles ? &l->files[number] : NULL;
	const char *folder, *name;
	size_t size;
	char *path;

	if (!file || file->whole)
		return file ? file->whole : NULL;
	name = file->name;
	folder = file->folder < l->nfolders && *name != '/' ? l->folders[file->folder] : NULL;
	if (folder) {
		size = strlen(folder) + strlen(name) + 2;
		path = arena_alloc(&o->symbols->arena, size);
		if (path)
			snprintf(path, size, "%s/%s", folder, name);
		name = path ? path : name;
	}
	file->whole = path_whole(o, u, name);
	return file->whole;
}

static const char *unit_file(struct object *o, struct unit *u, Dwarf_Word number)
{
	Dwarf_Files *files;
	size_t n;

	if (u->lined)
		return unit_lined_file(o, u, number);
	if (dwarf_getsrcfiles(&u->body, &files, &n) != 0 &&
	    dwarf_getsrcfiles(&u->die, &files, &n) != 0)
		return NULL;
	return number < n ? path_whole(o, u, dwarf_filesrc(files, number, NULL, NULL)) : NULL;
}

static void unit_line(struct object *o, struct unit *u, uint64_t pc, struct dwarf_frame *frame)
{
	unsigned int file;
	Dwarf_Line *line;
	int number = 0;

	if (u->lined) {
		if (lines_find(&u->lines, pc, &file, &frame->line))
			frame->file = unit_lined_file(o, u, file);
		return;
	}
	line = dwarf_getsrc_die(&u->die, pc);
	if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
		return;
	frame->file = path_whole(o, u, dwarf_linesrc(line, NULL, NULL));
	frame->line = (unsigned int)number;
}

/* The inlined functions at `pc` below `parent`, outermost first.  Returns how many there are. */
static size_t die_inlined(Dwarf_Die *parent, uint64_t pc, Dwarf_Die *scopes, unsigned int room)
{
	Dwarf_Die die;
	size_t n = 0;

	for (int end = dwarf_child(parent, &die); end == 0 && !n && room;
	     end = dwarf_siblingof(&die, &die)) {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_inlined_subroutine && dwarf_haspc(&die, pc) > 0) {
			scopes[0] = die;
			return 1 + die_inlined(&die, pc, scopes + 1, room - 1);
		}
		if (tag_is_block(tag))
			n = die_inlined(&die, pc, scopes, room - 1);
	}
	return n;
}

/* From the innermost scope outwards; the place of a call is where the caller's frame is. */
static size_t function_frames(struct object *o, struct unit *u, const Dwarf_Die *function,
			   uint64_t pc, struct dwarf_frame *frames, size_t room)
{
	Dwarf_Die scopes[DEPTH_MOST + 1] = { *function };
	size_t inlined = die_inlined(&scopes[0], pc, &scopes[1], DEPTH_MOST), n = 0;
	Dwarf_Addr start, end;

	for (size_t i = inlined; n < room; i--) {
		struct dwarf_frame *frame = &frames[n++];

		frame->name = die_name(&scopes[i]);
		frame->inlined = i > 0;
		if (!i && dwarf_lowpc(&scopes[i], &start) == 0) {
			frame->start = start;
			if (dwarf_highpc(&scopes[i], &end) == 0 && end > start)
				frame->size = end - start;
		}
		if (!i || n == room)
			break;
		frames[n] = (struct dwarf_frame){ 0 };
		frames[n].line = (unsigned int)die_number(&scopes[i], DW_AT_call_line);
		if (frames[n].line)
			frames[n].file = unit_file(o, u, die_number(&scopes[i], DW_AT_call_file));
	}
	return n;
}

/* The function with code of its own that has this address, or NULL. */
static const Dwarf_Die *unit_function(struct unit *u, uint64_t pc)
{
	const struct span *span;

	if (!u->opened)
		unit_open(u);
	span = spans_find(&u->spans, pc);
	if (!span && !u->nested) {
		unit_open_nested(u);
		span = spans_find(&u->spans, pc);
	}
	return span ? &u->functions[span->item] : NULL;
}

size_t dwarf_frames(struct object *o, uint64_t address, struct dwarf_frame *frames, size_t room)
{
	struct dwarf *d = o->dwarf;
	uint64_t pc = address + o->bias - d->bias;
	const struct span *span = spans_find(&d->spans, pc);
	struct unit *u = span ? &d->units[span->item] : NULL;
	const Dwarf_Die *function;
	size_t n;

	if (!u)
		return 0;
	frames[0] = (struct dwarf_frame){ 0 };
	function = unit_function(u, pc);
	unit_line(o, u, pc, &frames[0]);
	n = function ? function_frames(o, u, function, pc, frames, room) : 0;
	for (size_t i = 0; i < n; i++)
		frames[i].start += frames[i].inlined ? 0 : d->bias - o->bias;
	return n ? n : frames[0].line != 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See lines.h.  libdw decodes, keeps and sorts every row of a unit's line table, ten times the size
 * of the table in the file, to find a few of them; with it ten thousand addresses in a gigabyte of
 * debug information take twice the time.  Here one pass finds the sequences, and only the sequence
 * of an address is decoded again and kept.  Unusual tables are left to libdw.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <gelf.h>

#include "bytes.h"
#include "lib/base/array.h"
#include "lib/base/index.h"
#include "lines.h"

#define FORMATS_MOST 16u

struct line_row {
	uint64_t address;
	unsigned int file, line;
};

/* A piece of code without gaps. */
struct sequence {
	const uint8_t *program;
	struct line_row *rows;	/* decoded when first needed */
	size_t nrows, room;
};

/* The registers of the machine that DWARF's line programs run on. */
struct line_machine {
	const uint8_t *at;
	struct line_row row;
	bool ended;		/* a sequence */
};

struct bytes {
	const uint8_t *at, *end;
};

/* The sections that a header is read from. */
struct line_source {
	struct bytes header, line_strings, strings;
};

/* --- header ------------------------------------------------------------------------------ */

/* A section's bytes, if they need neither decompression nor relocation. */
static struct bytes elf_section(Elf *elf, const char *wanted)
{
	Elf_Scn *it = NULL;
	struct bytes none = { 0 };
	const char *name;
	Elf_Data *data;
	size_t names;
	GElf_Shdr h;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return none;
	while ((it = elf_nextscn(elf, it))) {
		if (!gelf_getshdr(it, &h) || h.sh_type != SHT_PROGBITS ||
		    h.sh_flags & (SHF_ALLOC | SHF_COMPRESSED))
			continue;
		name = elf_strptr(elf, names, h.sh_name);
		if (!name || strcmp(name, wanted) != 0)
			continue;
		data = elf_rawdata(it, NULL);
		if (data && data->d_buf)
			return (struct bytes){ data->d_buf, (uint8_t *)data->d_buf + data->d_size };
	}
	return none;
}

static uint64_t bytes_take_number(struct bytes *b, size_t size)
{
	uint64_t value = 0;

	if (b->at && !bytes_number(&b->at, b->end, size, &value))
		b->at = NULL;
	return value;
}

static uint64_t bytes_take_uleb(struct bytes *b)
{
	uint64_t value = 0;

	if (b->at && !bytes_uleb(&b->at, b->end, &value))
		b->at = NULL;
	return value;
}

static const char *bytes_take_string(struct bytes *b)
{
	const uint8_t *from = b->at;
	const uint8_t *nul = from ? memchr(from, '\0', (size_t)(b->end - from)) : NULL;

	b->at = nul ? nul + 1 : NULL;
	return nul ? (const char *)from : NULL;
}

static const char *bytes_string_at(struct bytes b, uint64_t offset)
{
	if (!b.at || offset >= (uint64_t)(b.end - b.at))
		return NULL;
	b.at += offset;
	return bytes_take_string(&b);
}

static int lines_add_file(struct line_table *l, struct line_file file)
{
	if (array_reserve(l->files, l->files_room, l->nfiles + 1) != 0)
		return -ENOMEM;
	l->files[l->nfiles++] = file;
	return 0;
}

static int lines_add_folder(struct line_table *l, const char *name)
{
	if (array_reserve(l->folders, l->folders_room, l->nfolders + 1) != 0)
		return -ENOMEM;
	l->folders[l->nfolders++] = name;
	return 0;
}

/* Before DWARF 5: the unit's folder is not among them, files count from 1. */
static int lines_read_old_names(struct line_table *l, struct bytes *b, const char *folder)
{
	const char *name;
	int err = lines_add_folder(l, folder);

	while (!err && (name = bytes_take_string(b)) && *name)
		err = lines_add_folder(l, name);
	if (!err)
		err = lines_add_file(l, (struct line_file){ .name = "???", .folder = UINT64_MAX });
	while (!err && (name = bytes_take_string(b)) && *name) {
		struct line_file file = { .name = name, .folder = bytes_take_uleb(b) };

		bytes_take_uleb(b);
		bytes_take_uleb(b);
		err = lines_add_file(l, file);
	}
	return err;
}

/* A value of DWARF 5's tables, a name or a number.  false: its form is unusual. */
static bool lines_read_value(const struct line_table *l, struct line_source *from, uint64_t form,
			     uint64_t type, struct line_file *file)
{
	struct bytes *b = &from->header;
	const char *name = NULL;
	uint64_t n = 0;

	switch (form) {
	case DW_FORM_string:
		name = bytes_take_string(b);
		break;
	case DW_FORM_line_strp:
		name = bytes_string_at(from->line_strings, bytes_take_number(b, l->offset_size));
		break;
	case DW_FORM_strp:
		name = bytes_string_at(from->strings, bytes_take_number(b, l->offset_size));
		break;
	case DW_FORM_udata:
		n = bytes_take_uleb(b);
		break;
	case DW_FORM_data1:
		n = bytes_take_number(b, 1);
		break;
	case DW_FORM_data2:
		n = bytes_take_number(b, 2);
		break;
	case DW_FORM_data16:
		bytes_take_number(b, 8);
		bytes_take_number(b, 8);
		break;
	default:
		return false;
	}
	if (type == DW_LNCT_path)
		file->name = name;
	else if (type == DW_LNCT_directory_index)
		file->folder = n;
	return b->at;
}

/* One of DWARF 5's two tables, which begin with a description of their fields. */
static int lines_read_names(struct line_table *l, struct line_source *from, bool folders)
{
	struct bytes *b = &from->header;
	uint64_t format[2 * FORMATS_MOST] = { 0 }, kinds = bytes_take_number(b, 1), n;
	int err = 0;

	if (kinds > FORMATS_MOST)
		return -ENOTSUP;
	for (uint64_t i = 0; i < 2 * kinds; i++)
		format[i] = bytes_take_uleb(b);
	n = bytes_take_uleb(b);
	if (!b->at || (n && !kinds) || n > (uint64_t)(b->end - b->at))
		return -ENOTSUP;
	for (uint64_t i = 0; !err && i < n; i++) {
		struct line_file file = { 0 };

		for (uint64_t j = 0; j < kinds; j++)
			if (!lines_read_value(l, from, format[2 * j + 1], format[2 * j], &file))
				return -ENOTSUP;
		if (!file.name)
			return -ENOTSUP;
		err = folders ? lines_add_folder(l, file.name) : lines_add_file(l, file);
	}
	return err;
}

/* The lengths at the front: of the table, to which `b` is cut, then of the header. */
static bool lines_read_lengths(struct line_table *l, struct bytes *b)
{
	uint64_t length = bytes_take_number(b, 4);

	l->offset_size = length == UINT32_MAX ? 8 : 4;
	if (l->offset_size == 8)
		length = bytes_take_number(b, 8);
	if (!b->at || length > (uint64_t)(b->end - b->at))
		return false;
	b->end = b->at + length;
	l->version = (unsigned int)bytes_take_number(b, 2);
	if (l->version >= 5) {
		bytes_take_number(b, 1);
		bytes_take_number(b, 1);
	}
	length = bytes_take_number(b, l->offset_size);
	if (!b->at || l->version < 2 || l->version > 5 || length > (uint64_t)(b->end - b->at))
		return false;
	l->program = b->at + length;
	l->end = b->end;
	return true;
}

/* Bundled instructions and opcodes with other operands are not supported. */
static bool lines_read_parameters(struct line_table *l, struct bytes *b)
{
	static const uint8_t usual[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
	uint64_t bundle = 1;

	l->step = (unsigned int)bytes_take_number(b, 1);
	if (l->version >= 4)
		bundle = bytes_take_number(b, 1);
	bytes_take_number(b, 1);
	l->line_base = ((int)bytes_take_number(b, 1) ^ 0x80) - 0x80;	/* it is signed */
	l->range = (unsigned int)bytes_take_number(b, 1);
	l->base = (unsigned int)bytes_take_number(b, 1);
	if (!b->at || !l->range || !l->base || bundle != 1 || l->base > sizeof(usual) + 1 ||
	    (size_t)(b->end - b->at) < l->base || memcmp(b->at, usual, l->base - 1) != 0)
		return false;
	b->at += l->base - 1;
	return true;
}

static int lines_read_header(struct line_table *l, struct line_source *from, const char *folder)
{
	struct bytes *b = &from->header;
	int err;

	if (!lines_read_lengths(l, b) || !lines_read_parameters(l, b))
		return -ENOTSUP;
	if (l->version < 5)
		err = lines_read_old_names(l, b, folder);
	else
		err = lines_read_names(l, from, true);
	if (!err && l->version >= 5)
		err = lines_read_names(l, from, false);
	return !err && !b->at ? -ENOTSUP : err;
}

/* --- program ----------------------------------------------------------------------------- */

static void machine_begin(struct line_machine *m, const uint8_t *at)
{
	*m = (struct line_machine){ .at = at, .row = { .file = 1, .line = 1 } };
}

/* false: unknown, or truncated. */
static bool machine_extended(const struct line_table *l, struct line_machine *m, bool *row)
{
	const uint8_t *next;
	uint64_t length;

	if (!bytes_uleb(&m->at, l->end, &length) || !length || length > (uint64_t)(l->end - m->at))
		return false;
	next = m->at + length;
	switch (*m->at++) {
	case DW_LNE_end_sequence:
		m->ended = *row = true;
		break;
	case DW_LNE_set_address:
		if (!bytes_number(&m->at, next, length - 1, &m->row.address))
			return false;
		break;
	case DW_LNE_define_file:
		return false;
	}
	m->at = next;
	return true;
}

static bool machine_standard(const struct line_table *l, struct line_machine *m,
			     unsigned int opcode, bool *row)
{
	uint64_t n = 0;
	int64_t change;

	switch (opcode) {
	case DW_LNS_copy:
		*row = true;
		return true;
	case DW_LNS_advance_pc:
		if (!bytes_uleb(&m->at, l->end, &n))
			return false;
		m->row.address += l->step * n;
		return true;
	case DW_LNS_advance_line:
		if (!bytes_sleb(&m->at, l->end, &change))
			return false;
		m->row.line += (unsigned int)change;
		return true;
	case DW_LNS_set_file:
		if (!bytes_uleb(&m->at, l->end, &n))
			return false;
		m->row.file = n < UINT32_MAX ? (unsigned int)n : UINT32_MAX;
		return true;
	case DW_LNS_set_column:
	case DW_LNS_set_isa:
		return bytes_uleb(&m->at, l->end, &n);
	case DW_LNS_const_add_pc:
		m->row.address += (uint64_t)l->step * ((255 - l->base) / l->range);
		return true;
	case DW_LNS_fixed_advance_pc:
		if (!bytes_number(&m->at, l->end, 2, &n))
			return false;
		m->row.address += n;
		return true;
	default:
		return true;
	}
}

/* Runs the machine up to the next row.  false: there is none. */
static bool machine_next_row(const struct line_table *l, struct line_machine *m)
{
	bool row = false, good = true;

	while (good && !row && m->at < l->end) {
		unsigned int opcode = *m->at++;

		if (opcode >= l->base) {
			opcode -= l->base;
			m->row.address += (uint64_t)l->step * (opcode / l->range);
			m->row.line += (unsigned int)(l->line_base + (int)(opcode % l->range));
			row = true;
		} else if (opcode) {
			good = machine_standard(l, m, opcode, &row);
		} else {
			good = machine_extended(l, m, &row);
		}
	}
	return good && row;
}

static int lines_add_sequence(struct line_table *l, const uint8_t *program, uint64_t start,
			      uint64_t end)
{
	const uint32_t number_of = (uint32_t)l->nsequences;

	if (start >= end)
		return 0;
	if (l->nsequences == UINT32_MAX ||
	    array_reserve(l->sequences, l->sequences_room, l->nsequences + 1) != 0)
		return -ENOMEM;
	l->sequences[l->nsequences++] = (struct sequence){ .program = program };
	return spans_add(&l->spans, (struct span){ start, end, number_of, number_of });
}

static int lines_read_program(struct line_table *l)
{
	const uint8_t *program = l->program;
	uint64_t start = UINT64_MAX;
	struct line_machine m;
	int err = 0;

	machine_begin(&m, program);
	while (!err && machine_next_row(l, &m)) {
		if (m.row.address < start)
			start = m.row.address;
		if (!m.ended)
			continue;
		err = lines_add_sequence(l, program, start, m.row.address);
		start = UINT64_MAX;
		program = m.at;
		machine_begin(&m, program);
	}
	if (!err && program != l->end)
		err = -ENOTSUP;
	return err ? err : spans_sort(&l->spans);
}

/* --- the table of a unit ------------------------------------------------------------------ */

int lines_open(struct line_table *l, Dwarf_Die *unit)
{
	Elf *elf = dwarf_getelf(dwarf_cu_getdwarf(unit->cu));
	struct line_source from = { .header = elf_section(elf, ".debug_line") };
	struct bytes *b = &from.header;
	Dwarf_Attribute attr;
	Dwarf_Word offset;
	GElf_Ehdr h;
	const char *folder;
	int err;

	*l = (struct line_table){ 0 };
	if (!b->at || !gelf_getehdr(elf, &h) || h.e_type == ET_REL ||
	    h.e_ident[EI_DATA] != ELFDATA2LSB ||
	    dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attr), &offset) != 0 ||
	    offset >= (uint64_t)(b->end - b->at))
		return -ENOTSUP;
	b->at += offset;
	from.line_strings = elf_section(elf, ".debug_line_str");
	from.strings = elf_section(elf, ".debug_str");
	folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
	err = lines_read_header(l, &from, folder);
	if (!err)
		err = lines_read_program(l);
	if (err)
		lines_close(l);
	return err;
}

void lines_close(struct line_table *l)
{
	for (size_t i = 0; i < l->nsequences; i++)
		free(l->sequences[i].rows);
	free(l->sequences);
	spans_free(&l->spans);
	free(l->folders);
	free(l->files);
	*l = (struct line_table){ 0 };
}

static int line_row_order(const void *a, const void *b)
{
	const struct line_row *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

/* The rows of a sequence; of several rows with one address the last one counts. */
static void sequence_read_rows(const struct line_table *l, struct sequence *s)
{
	bool sorted = true;
	struct line_machine m;
	machine_begin(&m, s->program);
	while (machine_next_row(l, &m) && !m.ended &&
	       array_reserve(s->rows, s->room, s->nrows + 1) == 0) {
		sorted &= !s->nrows || s->rows[s->nrows - 1].address <= m.row.address;
		s->rows[s->nrows++] = m.row;
	}
	if (!sorted)
		qsort(s->rows, s->nrows, sizeof(*s->rows), line_row_order);
}

bool lines_find(struct line_table *l, uint64_t pc, unsigned int *file, unsigned int *line)
{
	const struct span *span = spans_find(&l->spans, pc);
	struct sequence *s = span ? &l->sequences[span->item] : NULL;
	size_t upto;

	if (!s)
		return false;
	if (!s->rows)
		sequence_read_rows(l, s);
	upto = array_upto(s->rows, s->rows ? s->nrows : 0, address, pc);
	if (!upto || !s->rows[upto - 1].line)
		return false;
	*file = s->rows[upto - 1].file;
	*line = s->rows[upto - 1].line;
	return true;
}

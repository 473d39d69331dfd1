/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nearly all of a unit is types and variables.  libdw takes each entry apart to find the next, with
 * a lock for each look at its abbreviation; here abbreviations are prepared once, and an entry is
 * skipped by the sizes of its forms.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>
#include <gelf.h>

#include "bytes.h"
#include "dies.h"
#include "index.h"

#define VARIES		255u	/* a form without a size of its own */
#define ATTRIBUTES_MOST 1024u	/* libdw counts them from the first for each */

struct attribute {
	uint16_t form;
	uint8_t size;		/* VARIES: told by its bytes */
	bool sibling;
};

struct abbrev {
	uint64_t code;
	uint32_t first, n;	/* attributes */
	uint32_t size;		/* bytes of all, if none varies */
	uint16_t tag;
	bool children, has_code, varies;
};

/* --- values ------------------------------------------------------------------------------ */

static unsigned int form_size(const struct dies *d, unsigned int form)
{
	switch (form) {
	case DW_FORM_flag_present:
	case DW_FORM_implicit_const:
		return 0;
	case DW_FORM_data1:
	case DW_FORM_ref1:
	case DW_FORM_flag:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return 1;
	case DW_FORM_data2:
	case DW_FORM_ref2:
	case DW_FORM_strx2:
	case DW_FORM_addrx2:
		return 2;
	case DW_FORM_strx3:
	case DW_FORM_addrx3:
		return 3;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_ref_sup4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return 4;
	case DW_FORM_data8:
	case DW_FORM_ref8:
	case DW_FORM_ref_sup8:
	case DW_FORM_ref_sig8:
		return 8;
	case DW_FORM_data16:
		return 16;
	case DW_FORM_addr:
		return d->address_size;
	case DW_FORM_ref_addr:
		return d->version == 2 ? d->address_size : d->offset_size;
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_strp_sup:
	case DW_FORM_sec_offset:
	case DW_FORM_GNU_strp_alt:
	case DW_FORM_GNU_ref_alt:
		return d->offset_size;
	default:
		return VARIES;
	}
}

/* Behind a value of a form that varies; NULL: it ends outside, or nobody knows the form. */
static const uint8_t *skip_varying(const struct dies *d, unsigned int form, const uint8_t *at)
{
	uint64_t size = 0;
	bool good;

	switch (form) {
	case DW_FORM_udata:
	case DW_FORM_sdata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return bytes_uleb(&at, d->end, &size) ? at : NULL;
	case DW_FORM_string:
		at = memchr(at, '\0', (size_t)(d->end - at));
		return at ? at + 1 : NULL;
	case DW_FORM_block1:
		good = bytes_number(&at, d->end, 1, d->big_endian, &size);
		break;
	case DW_FORM_block2:
		good = bytes_number(&at, d->end, 2, d->big_endian, &size);
		break;
	case DW_FORM_block4:
		good = bytes_number(&at, d->end, 4, d->big_endian, &size);
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		good = bytes_uleb(&at, d->end, &size);
		break;
	default:
		return NULL;
	}
	return good && size <= (uint64_t)(d->end - at) ? at + size : NULL;
}

static const uint8_t *skip_value(const struct dies *d, unsigned int form, unsigned int size,
				 const uint8_t *at)
{
	uint64_t told;

	if (form == DW_FORM_indirect) {
		if (!bytes_uleb(&at, d->end, &told) || told == DW_FORM_indirect ||
		    told > UINT16_MAX)
			return NULL;
		form = (unsigned int)told;
		size = form_size(d, form);
	}
	if (size == VARIES)
		return skip_varying(d, form, at);
	return size <= (size_t)(d->end - at) ? at + size : NULL;
}

/* Offsets of siblings count from the unit's start; one that does not lead forwards is none. */
static const uint8_t *sibling_of(const struct dies *d, const struct attribute *a,
				 const uint8_t *at)
{
	uint64_t offset = 0;
	bool good = false;

	if (a->form == DW_FORM_ref_udata)
		good = bytes_uleb(&at, d->end, &offset);
	else if (a->form == DW_FORM_ref1 || a->form == DW_FORM_ref2 || a->form == DW_FORM_ref4 ||
		 a->form == DW_FORM_ref8)
		good = bytes_number(&at, d->end, a->size, d->big_endian, &offset);
	return good && offset <= (uint64_t)(d->end - d->start) ? d->start + offset : NULL;
}

/* --- abbreviations ----------------------------------------------------------------------- */

static int add_attribute(struct dies *d, struct abbrev *a, unsigned int name, unsigned int form)
{
	const struct attribute attribute = { .form = (uint16_t)form,
					     .size = (uint8_t)form_size(d, form),
					     .sibling = name == DW_AT_sibling };
	struct attribute *attributes;

	if (form > UINT16_MAX || a->n >= ATTRIBUTES_MOST)
		return -EINVAL;
	attributes = grow(d->attributes, &d->attributes_room, d->nattributes + 1,
			  sizeof(*attributes));
	if (!attributes)
		return -ENOMEM;
	d->attributes = attributes;
	attributes[d->nattributes++] = attribute;
	a->has_code |= name == DW_AT_low_pc || name == DW_AT_ranges;
	a->varies |= attribute.size == VARIES || attribute.sibling;
	a->size += attribute.size;
	a->n++;
	return 0;
}

/* libdw's count of attributes is wrong where constants are among them. */
static int add_abbrev(struct dies *d, Dwarf_Abbrev *from)
{
	struct abbrev a = {
		.code = dwarf_getabbrevcode(from), .first = (uint32_t)d->nattributes,
		.tag = (uint16_t)dwarf_getabbrevtag(from),
		.children = dwarf_abbrevhaschildren(from) };
	struct abbrev *abbrevs;
	unsigned int name, form;
	int err = 0;

	while (!err && dwarf_getabbrevattr(from, a.n, &name, &form, NULL) == 0)
		err = add_attribute(d, &a, name, form);
	if (err)
		return err;
	abbrevs = grow(d->abbrevs, &d->abbrevs_room, d->nabbrevs + 1, sizeof(a));
	if (!abbrevs)
		return -ENOMEM;
	d->abbrevs = abbrevs;
	abbrevs[d->nabbrevs++] = a;
	return 0;
}

static int by_code(const void *a, const void *b)
{
	const struct abbrev *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

static int read_abbrevs(struct dies *d, Dwarf_Die *unit)
{
	Dwarf_Off at = 0;
	Dwarf_Abbrev *abbrev;
	size_t length;
	int err = 0;

	while (!err && (abbrev = dwarf_getabbrev(unit, at, &length)) &&
	       abbrev != DWARF_END_ABBREV) {
		err = add_abbrev(d, abbrev);
		at += length;
	}
	if (!err)
		qsort(d->abbrevs, d->nabbrevs, sizeof(*d->abbrevs), by_code);
	return err;
}

/* Compilers count from 1. */
static const struct abbrev *find_abbrev(const struct dies *d, uint64_t code)
{
	const struct abbrev key = { .code = code };

	if (code && code <= d->nabbrevs && d->abbrevs[code - 1].code == code)
		return &d->abbrevs[code - 1];
	return bsearch(&key, d->abbrevs, d->nabbrevs, sizeof(key), by_code);
}

/* --- entries ----------------------------------------------------------------------------- */

/* Where the section ends that these bytes are of: libdw does not say. */
static const uint8_t *section_end(Elf *elf, const uint8_t *at)
{
	Elf_Scn *section = NULL;
	GElf_Shdr h;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &h) || h.sh_type != SHT_PROGBITS ||
		    h.sh_flags & SHF_ALLOC)
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf && at >= (const uint8_t *)data->d_buf &&
		    at < (const uint8_t *)data->d_buf + data->d_size)
			return (const uint8_t *)data->d_buf + data->d_size;
	}
	return NULL;
}

int dies_open(struct dies *d, Dwarf_Die *unit)
{
	Dwarf *debug = dwarf_cu_getdwarf(unit->cu);
	Elf *elf = dwarf_getelf(debug);
	const uint8_t *at = unit->addr, *end = section_end(elf, at);
	Dwarf_Off inside = dwarf_cuoffset(unit), next;
	const char *ident = elf_getident(elf, NULL);
	size_t header;
	int err;

	d->offset = dwarf_dieoffset(unit) - inside;
	if (!end || !ident || dwarf_next_unit(debug, d->offset, &next, &header, &d->version, NULL,
					      &d->address_size, &d->offset_size, NULL, NULL) != 0)
		return -EINVAL;
	d->start = at - inside;
	d->end = next > d->offset && next - d->offset < (uint64_t)(end - d->start) ?
		d->start + (next - d->offset) : end;
	if (at >= d->end)
		return -EINVAL;
	d->big_endian = ident[EI_DATA] == ELFDATA2MSB;
	err = read_abbrevs(d, unit);
	if (err)
		dies_close(d);
	return err;
}

void dies_close(struct dies *d)
{
	free(d->abbrevs);
	free(d->attributes);
	*d = (struct dies){ 0 };
}

bool dies_read(const struct dies *d, const uint8_t *at, struct die *die)
{
	const struct abbrev *a;
	uint64_t code;

	*die = (struct die){ .at = at };
	if (!bytes_uleb(&at, d->end, &code))
		return false;
	if (!code) {
		die->after = at;
		return false;
	}
	a = find_abbrev(d, code);
	if (!a)
		return false;
	die->tag = a->tag;
	die->children = a->children;
	die->code = a->has_code;
	if (!a->varies && a->size <= (size_t)(d->end - at)) {
		die->after = at + a->size;
		return true;
	}
	for (uint32_t i = a->first; at && i < a->first + a->n; i++) {
		const struct attribute *attribute = &d->attributes[i];

		if (attribute->sibling)
			die->sibling = sibling_of(d, attribute, at);
		at = skip_value(d, attribute->form, attribute->size, at);
	}
	if (!at || die->sibling < at)
		die->sibling = NULL;
	die->after = at;
	return at;
}

const uint8_t *dies_skip(const struct dies *d, const struct die *die)
{
	const uint8_t *at = die->sibling && die->children ? die->sibling : die->after;
	size_t depth = die->children && !die->sibling;
	struct die inner;

	while (at && depth) {
		if (dies_read(d, at, &inner))
			depth += inner.children && !inner.sibling;
		else
			depth--;
		at = inner.children && inner.sibling ? inner.sibling : inner.after;
	}
	return at;
}

Dwarf_Off dies_offset(const struct dies *d, const struct die *die)
{
	return d->offset + (Dwarf_Off)(die->at - d->start);
}

const uint8_t *dies_at(const struct dies *d, Dwarf_Off offset)
{
	return d->start + (offset - d->offset);
}

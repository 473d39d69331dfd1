/* SPDX-License-Identifier: BSD-2-Clause */
/* The entries (DIEs) of a unit of debug information, read forwards, most only to be skipped. */
#ifndef PMCBPF_CLI_PROFILE_DIES_H
#define PMCBPF_CLI_PROFILE_DIES_H

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

struct dies {
	const uint8_t *start, *end;	/* of the unit */
	Dwarf_Off offset;		/* of the start, in the section */
	uint8_t address_size, offset_size;
	Dwarf_Half version;
	bool big_endian;
	struct abbrev *abbrevs;		/* by code */
	size_t nabbrevs, abbrevs_room;
	struct attribute *attributes;	/* of all of them */
	size_t nattributes, attributes_room;
};

struct die {
	const uint8_t *at;
	const uint8_t *after;		/* its attributes; NULL: damaged */
	const uint8_t *sibling;		/* NULL: not told */
	unsigned int tag;
	bool children, code;
};

/* 0, -ENOMEM, or -EINVAL: the unit is damaged. */
int dies_open(struct dies *d, Dwarf_Die *unit);
void dies_close(struct dies *d);

/* false: there is none any more, `after` is behind the mark that says so. */
bool dies_read(const struct dies *d, const uint8_t *at, struct die *die);
/* What follows the entry and all its children.  NULL: damaged. */
const uint8_t *dies_skip(const struct dies *d, const struct die *die);
/* Between an entry's place and what libdw calls it. */
Dwarf_Off dies_offset(const struct dies *d, const struct die *die);
const uint8_t *dies_at(const struct dies *d, Dwarf_Off offset);

#endif

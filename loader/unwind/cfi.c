/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "cfi.h"

/* Encodings of addresses: the format in the low half, and to what it is relative. */
enum {
	PE_ABSOLUTE, PE_ULEB128, PE_UDATA2, PE_UDATA4, PE_UDATA8,
	PE_SLEB128 = 9, PE_SDATA2, PE_SDATA4, PE_SDATA8,
	PE_FORMAT = 0x0f, PE_PCREL = 0x10, PE_ALIGNED = 0x50, PE_RELATIVE = 0x70,
	PE_INDIRECT = 0x80, PE_OMIT = 0xff,
};
#define RA_X86_64 16u
#define FP_ARM64  29u
#define LR_ARM64  30u

int cfi_entry_next(const struct cfi_section *s, uint32_t *offset, struct cfi_entry *e)
{
	struct cfi_cursor c = { s->data + *offset, s->data + s->size, false };
	uint64_t length = 0;
	uint32_t id;

	while (!length && cfi_left(&c)) {
		e->offset = (uint32_t)(c.at - s->data);
		length = cfi_number(&c, 4);
		if (!length && s->terminated)
			return 0;
	}
	if (!length)
		return c.bad ? -EBADMSG : 0;
	/* Entries of more than 4 GB would have a longer length behind this number. */
	if (length < 4 || length > cfi_left(&c))
		return -EBADMSG;
	c.end = c.at + length;
	*offset = (uint32_t)(c.end - s->data);
	id = (uint32_t)cfi_number(&c, 4);
	e->is_cie = id == 0;
	e->cie = 0;
	e->body = c;
	/* An FDE's id is the distance of its CIE from the id. */
	if (!e->is_cie && id > e->offset + 4)
		return -EBADMSG;
	if (!e->is_cie)
		e->cie = e->offset + 4 - id;
	return 1;
}

static uint64_t cfi_format_read(struct cfi_cursor *c, uint8_t format)
{
	switch (format) {
	case PE_ULEB128: return cfi_uleb(c);
	case PE_SLEB128: return (uint64_t)cfi_sleb(c);
	case PE_UDATA2: return cfi_number(c, 2);
	case PE_SDATA2: return (uint64_t)cfi_signed(c, 2);
	case PE_UDATA4: return cfi_number(c, 4);
	case PE_SDATA4: return (uint64_t)cfi_signed(c, 4);
	case PE_ABSOLUTE:
	case PE_UDATA8:
	case PE_SDATA8: return cfi_number(c, 8);
	default: c->bad = true; return 0;
	}
}

uint64_t cfi_address(struct cfi_cursor *c, const struct cfi_section *s, uint8_t encoding)
{
	uint64_t at = s->address + (uint64_t)(c->at - s->data);
	uint64_t value = cfi_format_read(c, encoding & PE_FORMAT);

	if ((encoding & ~PE_FORMAT) == PE_PCREL)
		return value + at;
	if (encoding & ~PE_FORMAT)
		c->bad = true;
	return value;
}

/* The address of a personality routine is of no interest, its length is. */
static void cfi_personality_skip(struct cfi_cursor *c, const struct cfi_section *s,
				 uint8_t encoding)
{
	const uint64_t at = s->address + (uint64_t)(c->at - s->data);

	if ((encoding & PE_RELATIVE) == PE_ALIGNED)
		(void)cfi_bytes(c, (8 - at % 8) % 8 + 8);
	else
		(void)cfi_format_read(c, encoding & PE_FORMAT);
}

/* False: a letter whose data, and so all that follows, cannot be understood. */
static bool cfi_augmentation_read(struct cfi_cursor *data, const struct cfi_section *s,
				  const uint8_t *letters, size_t n, struct cfi_cie *cie)
{
	for (size_t i = 0; i < n; i++) {
		switch (letters[i]) {
		case 'R': cie->encoding = cfi_u8(data); break;
		case 'P': cfi_personality_skip(data, s, cfi_u8(data)); break;
		case 'L': (void)cfi_u8(data); break;
		case 'S': cie->signal = true; break;
		case 'B':		/* return addresses are signed with key B */
		case 'G':		/* frames with memory tags */
			if (s->arch != UNWIND_ARM64)
				return false;
			break;
		default: return false;
		}
	}
	return !data->bad;
}

/* Behind the augmentation's letters. */
static bool cfi_cie_fields(struct cfi_cursor *c, uint8_t version, struct cfi_cie *cie,
			   enum unwind_arch arch)
{
	uint64_t ra;

	/* Sizes of addresses and of segment selectors. */
	if (version == 4 && (cfi_u8(c) != 8 || cfi_u8(c) != 0))
		return false;
	cie->code_align = cfi_uleb(c);
	cie->data_align = cfi_sleb(c);
	ra = version == 1 ? cfi_u8(c) : cfi_uleb(c);
	cie->ra = (uint8_t)ra;
	/* Some of arm64's assembler functions name another register than LR. */
	return arch == UNWIND_ARM64 ? ra <= LR_ARM64 && ra != FP_ARM64 : ra == RA_X86_64;
}

bool cfi_cie_read(const struct cfi_section *s, uint32_t offset, struct cfi_cie *cie)
{
	const uint8_t *letters, *nul;
	struct cfi_cursor c, data;
	struct cfi_entry e;
	uint8_t version;
	size_t n;

	*cie = (struct cfi_cie){ .encoding = PE_ABSOLUTE };
	if (offset > s->size || cfi_entry_next(s, &offset, &e) <= 0 || !e.is_cie)
		return false;
	c = e.body;
	cie->size = cfi_left(&c);
	version = cfi_u8(&c);
	letters = c.at;
	nul = memchr(letters, 0, cfi_left(&c));
	if ((version != 1 && version != 3 && version != 4) || !nul)
		return false;
	n = (size_t)(nul - letters);
	c.at = nul + 1;
	if (!cfi_cie_fields(&c, version, cie, s->arch))
		return false;
	cie->augmented = n && letters[0] == 'z';
	if (cie->augmented) {
		data = cfi_block(&c);
		if (!cfi_augmentation_read(&data, s, letters + 1, n - 1, cie))
			return false;
	} else if (n) {
		return false;
	}
	cie->program = c;
	return !c.bad && cie->encoding != PE_OMIT && !(cie->encoding & PE_INDIRECT);
}

bool cfi_fde_read(const struct cfi_section *s, const struct cfi_entry *e,
		  const struct cfi_cie *cie, struct cfi_fde *fde)
{
	struct cfi_cursor c = e->body;

	fde->cie = cie;
	fde->start = cfi_address(&c, s, cie->encoding);
	fde->size = cfi_format_read(&c, cie->encoding & PE_FORMAT);
	if (cie->augmented)
		(void)cfi_block(&c);
	fde->program = c;
	return !c.bad;
}

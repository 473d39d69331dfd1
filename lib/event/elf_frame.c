/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See elf_frame.h.  strip(1) leaves .eh_frame_hdr, because exceptions need it: a sorted table of
 * the code ranges of .eh_frame, in the one encoding that linkers write.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "elf_file.h"
#include "elf_frame.h"

/* DW_EH_PE_…: the low four bits are the format. */
#define ENCODING_COUNT 0x03		/* udata4 */
#define ENCODING_TABLE 0x3b		/* datarel, sdata4 */
#define FORMAT(encoding) ((encoding) & 0x0f)
#define FORMAT_SDATA4 0x0b

struct frame_header {
	uint8_t version, eh_frame, count_as, table_as;
	int32_t unused;			/* of .eh_frame */
	uint32_t count;
};

struct frame_entry {
	int32_t begin, unused;
};

static const Elf64_Phdr *frame_segment(const struct elf_file *f)
{
	for (unsigned int i = 0; i < f->nsegments; i++)
		if (f->segment[i].p_type == PT_GNU_EH_FRAME)
			return &f->segment[i];
	return NULL;
}

static bool frame_header_is_known(const struct frame_header *h)
{
	return h->version == 1 && FORMAT(h->eh_frame) == FORMAT_SDATA4 &&
	       h->count_as == ENCODING_COUNT && h->table_as == ENCODING_TABLE;
}

/* NULL: there is no table. */
static struct frame_entry *frame_table(const struct elf_file *f, const Elf64_Phdr *p,
				       uint32_t *count)
{
	struct frame_header h;

	if (!p || p->p_filesz < sizeof(h) || elf_file_read(f, &h, sizeof(h), p->p_offset) ||
	    !frame_header_is_known(&h) ||
	    h.count > (p->p_filesz - sizeof(h)) / sizeof(struct frame_entry))
		return NULL;
	*count = h.count;
	return elf_file_copy(f, p->p_offset + sizeof(h), h.count * sizeof(struct frame_entry));
}

int elf_frame_find(const struct elf_file *f, uint64_t address, uint64_t *length)
{
	const Elf64_Phdr *p = frame_segment(f);
	struct frame_entry *table;
	uint32_t count = 0, i = 0;

	table = frame_table(f, p, &count);
	while (table && i < count && p->p_vaddr + (uint64_t)(int64_t)table[i].begin != address)
		i++;
	*length = table && i + 1 < count && table[i + 1].begin > table[i].begin ?
			  (uint64_t)((int64_t)table[i + 1].begin - table[i].begin) : 0;
	free(table);
	return i < count ? 0 : -ENOENT;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Files with call frame information that a test makes, and the table that comes of them. */
#ifndef PMCBPF_UNIT_UNWIND_DRAFT_H
#define PMCBPF_UNIT_UNWIND_DRAFT_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "loader/unwind/unwind.h"
#include "unit.h"

#define CODE   0x10000u			/* address of the code */
#define SIZE   0x30000u			/* bytes of code: three pages */
#define FRAME  0x100000u		/* address of .eh_frame */

/* An ELF file with code that is not there, and an .eh_frame that a test fills. */
struct file {
	Elf64_Ehdr head;
	Elf64_Phdr code, data, hdr;
	Elf64_Shdr sections[4];
	char names[32];
	union {
		uint32_t plt[16];
		uint8_t init[64];
	};
	uint8_t frame_header[12];
	uint8_t pad[4];
	uint8_t frame[];
};

struct draft {
	struct file *f;
	size_t len, room;		/* of the frame */
	size_t open;			/* start of the entry at hand */
};

static struct draft draft_new(size_t room)
{
	struct draft d = { .room = room };
	struct file *f = calloc(1, sizeof(*f) + room);

	assert_non_null(f);
	f->head = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_phnum = 3, .e_shnum = 4,
		.e_shstrndx = 2,
		.e_phoff = offsetof(struct file, code), .e_phentsize = sizeof(Elf64_Phdr),
		.e_shoff = offsetof(struct file, sections), .e_shentsize = sizeof(Elf64_Shdr),
	};
	f->code = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = CODE,
				.p_memsz = SIZE };
	memcpy(f->names, "\0.eh_frame\0.plt\0.init", 22);
	f->sections[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC,
				       .sh_offset = sizeof(*f), .sh_addr = FRAME };
	f->sections[2] = (Elf64_Shdr){ .sh_type = SHT_STRTAB,
				       .sh_offset = offsetof(struct file, names) };
	d.f = f;
	return d;
}

static void put(struct draft *d, const void *data, size_t n)
{
	assert_true(n <= d->room - d->len);
	memcpy(d->f->frame + d->len, data, n);
	d->len += n;
}

static void put4(struct draft *d, uint32_t value)
{
	put(d, &value, 4);
}

static void entry_begin(struct draft *d, uint32_t id)
{
	d->open = d->len;
	put4(d, 0);
	put4(d, id);
}

static void entry_end(struct draft *d)
{
	uint32_t size;

	while (d->len % 4)
		put(d, "", 1);
	size = (uint32_t)(d->len - d->open - 4);
	memcpy(d->f->frame + d->open, &size, 4);
}

/* def_cfa(sp, 8), offset(ra, cfa-8); addresses have 4 bytes and are absolute. */
static void put_cie(struct draft *d)
{
	entry_begin(d, 0);
	put(d, "\1zR\0\1\x78\x10\1\3\x0c\7\x8\x90\1", 14);
	entry_end(d);
}

static void fde_begin(struct draft *d, uint32_t start, uint32_t size)
{
	entry_begin(d, (uint32_t)d->len + 4);
	put4(d, CODE + start);
	put4(d, size);
	put(d, "", 1);
}

static void put_fde(struct draft *d, uint32_t start, uint32_t size, const char *program, size_t n)
{
	fde_begin(d, start, size);
	put(d, program, n);
	entry_end(d);
}

/* From memory of exactly its size, where a sanitizer sees the byte behind it. */
static int build_bytes(const struct draft *d, size_t size, struct unwind_table *t,
		       struct reason *why)
{
	uint8_t *exact = malloc(size ? size : 1);
	int err;

	assert_non_null(exact);
	memcpy(exact, d->f, size);
	err = unwind_table_build(t, &(struct unwind_input){ .fd = -1, .memory = exact,
							    .size = size }, why);
	free(exact);
	return err;
}

static int build(const struct draft *d, struct unwind_table *t, struct reason *why)
{
	struct file *f = d->f;

	f->sections[1].sh_size = d->len;
	return build_bytes(d, sizeof(*f) + d->len, t, why);
}

static void build_well(const struct draft *d, struct unwind_table *t)
{
	struct reason why;

	if (build(d, t, &why))
		fail_msg("%s", why.text);
}

static const struct unwind_rule *rule_at(const struct unwind_table *t, uint32_t at)
{
	return &t->rules[unwind_table_rule(t, CODE + at)];
}

static void expect_sp(const struct unwind_table *t, uint32_t at, int offset)
{
	assert_int_equal(rule_at(t, at)->cfa, UNWIND_SP);
	assert_int_equal(rule_at(t, at)->offset, offset);
}

static void expect_kind(const struct unwind_table *t, uint32_t at, enum unwind_cfa kind)
{
	assert_int_equal(rule_at(t, at)->cfa, kind);
}

#endif

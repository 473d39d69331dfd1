/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image.h"

#define PHDRS_MAX	512u
#define FRAME_NAME	".eh_frame"
#define X86_64_UNWIND	0x70000001u	/* the type of .eh_frame by the x86-64 ABI */
#define NAME_MAX_SIZE	16u		/* of the sections that are looked for */
#define PLT_FIRST_SIZE	32u		/* of arm64's first entry, which calls the linker */
#define PLT_ENTRY_SIZE	16u		/* of x86-64 */
#define PLT_SIZE_MAX	(1u << 20)	/* of x86-64's .plt */
#define INIT_SIZE_MAX	256u		/* of .init and .fini */

struct image_file {
	const struct unwind_input *in;
	Elf64_Ehdr head;
	Elf64_Phdr *phdrs;
	Elf64_Shdr *sections;		/* NULL: there are none */
	struct reason *why;
};

/* Whole reads only: a file that ends earlier is damaged. */
static int image_bytes(const struct image_file *f, uint64_t offset, void *buf, size_t len)
{
	const struct unwind_input *in = f->in;
	size_t done = 0;

	if (in->fd < 0) {
		if (offset > in->size || len > in->size - offset)
			return deny(f->why, -EBADMSG, "it is truncated");
		memcpy(buf, in->memory + offset, len);
		return 0;
	}
	while (done < len) {
		const uint64_t at = offset + done;
		ssize_t n = at > INT64_MAX ? 0 : pread(in->fd, (char *)buf + done, len - done,
						       (off_t)at);

		if (n < 0)
			return deny(f->why, -EIO, "it cannot be read: %s", strerror(errno));
		if (!n)
			return deny(f->why, -EBADMSG, "it is truncated");
		done += (size_t)n;
	}
	return 0;
}

static int image_head_read(struct image_file *f, struct image *image)
{
	const Elf64_Ehdr *h = &f->head;
	struct reason unused;
	struct image_file quiet = { .in = f->in, .why = &unused };
	int err = image_bytes(&quiet, 0, &f->head, sizeof(f->head));

	if (err == -EIO)
		return deny(f->why, err, "%s", unused.text);
	if (err || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB)
		return deny(f->why, -ENOEXEC, "it is no 64-bit ELF file");
	if (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64)
		return deny(f->why, -ENOEXEC, "it is for machine %u, not x86-64 or arm64",
			    h->e_machine);
	image->arch = h->e_machine == EM_AARCH64 ? UNWIND_ARM64 : UNWIND_X86_64;
	image->entry = h->e_type == ET_EXEC || h->e_type == ET_DYN ? h->e_entry : 0;
	if (h->e_phentsize != sizeof(*f->phdrs) || !h->e_phnum || h->e_phnum > PHDRS_MAX)
		return deny(f->why, -EBADMSG, "it has %u program headers of %u bytes", h->e_phnum,
			    h->e_phentsize);
	f->phdrs = calloc(h->e_phnum, sizeof(*f->phdrs));
	if (!f->phdrs)
		return deny(f->why, -ENOMEM, "no memory for program headers");
	return image_bytes(f, h->e_phoff, f->phdrs, h->e_phnum * sizeof(*f->phdrs));
}

/* --- code ------------------------------------------------------------------------------------- */

/* Segments are sorted and do not overlap, as the kernel wants them. */
static int image_code_add(struct image_file *f, struct image *image, const Elf64_Phdr *ph)
{
	struct unwind_code *code = &image->code[image->ncode];

	if (image->ncode == UNWIND_CODE_MAX)
		return deny(f->why, -E2BIG, "it has more than %u executable segments",
			    UNWIND_CODE_MAX);
	code->start = ph->p_vaddr;
	code->offset = ph->p_offset;
	if (__builtin_add_overflow(ph->p_vaddr, ph->p_memsz, &code->end) ||
	    (image->ncode && code->start < code[-1].end))
		return deny(f->why, -EBADMSG, "its executable segments overlap");
	image->ncode++;
	return 0;
}

static int image_code_read(struct image_file *f, struct image *image)
{
	uint64_t last;
	int err = 0;

	for (unsigned int i = 0; !err && i < f->head.e_phnum; i++)
		if (f->phdrs[i].p_type == PT_LOAD && f->phdrs[i].p_flags & PF_X &&
		    f->phdrs[i].p_memsz)
			err = image_code_add(f, image, &f->phdrs[i]);
	if (err)
		return err;
	if (!image->ncode)
		return deny(f->why, -ENODATA, "it has no executable segment");
	image->base = image->code[0].start & ~(uint64_t)(UNWIND_PAGE_SIZE - 1);
	last = (image->code[image->ncode - 1].end - 1 - image->base) >> UNWIND_PAGE_SHIFT;
	if (last >= UNWIND_PAGES_MAX)
		return deny(f->why, -E2BIG, "its code is spread over more than 4 GB");
	image->npages = (uint32_t)last + 1;
	return 0;
}

uint64_t image_clip(const struct image *image, uint64_t start, uint64_t size)
{
	for (uint32_t i = 0; i < image->ncode; i++) {
		const struct unwind_code *code = &image->code[i];

		if (start >= code->start && start < code->end)
			return size < code->end - start ? size : code->end - start;
	}
	return 0;
}

/* --- sections --------------------------------------------------------------------------------- */

static int image_sections_read(struct image_file *f)
{
	const Elf64_Ehdr *h = &f->head;

	if (!h->e_shoff || h->e_shentsize != sizeof(*f->sections) || h->e_shstrndx >= h->e_shnum)
		return 0;
	f->sections = calloc(h->e_shnum, sizeof(*f->sections));
	if (!f->sections)
		return deny(f->why, -ENOMEM, "no memory for section headers");
	return image_bytes(f, h->e_shoff, f->sections, h->e_shnum * sizeof(*f->sections));
}

/* Whether the section has that name, and contents. */
static bool image_section_is(const struct image_file *f, const Elf64_Shdr *sh, const char *want)
{
	const Elf64_Shdr *names = &f->sections[f->head.e_shstrndx];
	const size_t size = strlen(want) + 1;
	struct reason unused;
	const struct image_file quiet = { .in = f->in, .why = &unused };
	char name[NAME_MAX_SIZE];

	return sh->sh_flags & SHF_ALLOC && !(sh->sh_flags & SHF_COMPRESSED) && sh->sh_size &&
	       !image_bytes(&quiet, names->sh_offset + sh->sh_name, name, size) &&
	       !memcmp(name, want, size);
}

/* --- .eh_frame -------------------------------------------------------------------------------- */

static int image_frame_load(struct image_file *f, struct image *image, uint64_t offset,
			    uint64_t size, uint64_t address)
{
	if (size > UNWIND_FRAME_MAX)
		return deny(f->why, -E2BIG, "its .eh_frame is larger than %u MB",
			    UNWIND_FRAME_MAX >> 20);
	image->owned = malloc(size);
	if (!image->owned)
		return deny(f->why, -ENOMEM, "no memory for its .eh_frame");
	image->frame.data = image->owned;
	image->frame.size = size;
	image->frame.address = address;
	image->frame.arch = image->arch;
	return image_bytes(f, offset, image->owned, size);
}

/* 1; 0: there is none. */
static int image_frame_section(struct image_file *f, struct image *image)
{
	for (unsigned int i = 0; f->sections && i < f->head.e_shnum; i++) {
		const Elf64_Shdr *sh = &f->sections[i];

		if ((sh->sh_type == SHT_PROGBITS || sh->sh_type == X86_64_UNWIND) &&
		    image_section_is(f, sh, FRAME_NAME))
			return image_frame_load(f, image, sh->sh_offset, sh->sh_size, sh->sh_addr)
				?: 1;
	}
	return 0;
}

/* The loaded segment that has this address in its file part. */
static const Elf64_Phdr *image_segment(const struct image_file *f, uint64_t address)
{
	for (unsigned int i = 0; i < f->head.e_phnum; i++) {
		const Elf64_Phdr *ph = &f->phdrs[i];

		if (ph->p_type == PT_LOAD && address >= ph->p_vaddr &&
		    address - ph->p_vaddr < ph->p_filesz)
			return ph;
	}
	return NULL;
}

/* By the header that the C library uses: begin, but not the end.  1; 0: there is none. */
static int image_frame_header(struct image_file *f, struct image *image, const Elf64_Phdr *ph)
{
	uint8_t bytes[12];
	struct cfi_section head = { .data = bytes, .size = sizeof(bytes), .address = ph->p_vaddr };
	struct cfi_cursor c = { bytes + 4, bytes + sizeof(bytes), false };
	uint64_t address;
	int err;

	if (ph->p_filesz < sizeof(bytes))
		return 0;
	err = image_bytes(f, ph->p_offset, bytes, sizeof(bytes));
	if (err)
		return err;
	address = cfi_address(&c, &head, bytes[1]);
	ph = c.bad || bytes[0] != 1 ? NULL : image_segment(f, address);
	if (!ph)
		return deny(f->why, -EBADMSG, "its .eh_frame_hdr is damaged");
	address -= ph->p_vaddr;
	image->frame.terminated = true;
	err = image_frame_load(f, image, ph->p_offset + address, ph->p_filesz - address,
			       ph->p_vaddr + address);
	return err ?: 1;
}

static int image_frame_read(struct image_file *f, struct image *image)
{
	int found = image_frame_section(f, image);

	for (unsigned int i = 0; !found && i < f->head.e_phnum; i++)
		if (f->phdrs[i].p_type == PT_GNU_EH_FRAME)
			found = image_frame_header(f, image, &f->phdrs[i]);
	if (!found)
		return deny(f->why, -ENODATA, "it has no .eh_frame");
	return found < 0 ? found : 0;
}

/* --- code without information ----------------------------------------------------------------- */

static void image_part_add(struct image_known *known, uint64_t size, enum image_stack stack)
{
	struct image_part *part = known->parts;

	while (part->size)
		part++;
	*part = (struct image_part){ size, stack };
	known->size += size;
}

/* The first entry begins with its push; or with a landing pad, and the push behind it. */
static int image_plt_arm64(struct image_file *f, const Elf64_Shdr *sh, struct image_known *known)
{
	static const uint32_t push = 0xa9bf7bf0;	/* stp x16, x30, [sp, #-16]! */
	uint32_t words[2] = { 0 }, at = 0;
	int err = 0;

	if (sh->sh_size >= PLT_FIRST_SIZE)
		err = image_bytes(f, sh->sh_offset, words, sizeof(words));
	if (err)
		return err;
	if (words[0] == push || words[1] == push)
		at = words[0] == push ? 4 : 8;
	if (at) {
		image_part_add(known, at, IMAGE_CALLED);
		image_part_add(known, PLT_FIRST_SIZE - at, IMAGE_PUSHED);
	}
	if (sh->sh_size > known->size)
		image_part_add(known, sh->sh_size - known->size, IMAGE_CALLED);
	return 0;
}

/* An entry of a procedure linkage table; the bits of `any` are bytes that differ. */
struct plt_entry {
	uint8_t code[PLT_ENTRY_SIZE];
	uint16_t any;
	enum image_stack stack;
};

static bool plt_entry_is(const struct plt_entry *entry, const uint8_t *code)
{
	for (unsigned int i = 0; i < PLT_ENTRY_SIZE; i++)
		if (!(entry->any >> i & 1) && entry->code[i] != code[i])
			return false;
	return true;
}

static bool plt_entries_are(const struct plt_entry *entry, const uint8_t *code, size_t size)
{
	for (size_t at = 0; at < size; at += PLT_ENTRY_SIZE)
		if (!plt_entry_is(entry, code + at))
			return false;
	return true;
}

static void image_plt_parts(const uint8_t *code, size_t size, struct image_known *known)
{
	/* push x(%rip); jmp *x(%rip); nop */
	static const struct plt_entry first = {
		{ 0xff, 0x35, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0 },
		.any = 0x0f3c,
	};
	static const struct plt_entry entries[] = {
		/* jmp *x(%rip); push $n; jmp */
		{ { 0xff, 0x25, 0, 0, 0, 0, 0x68, 0, 0, 0, 0, 0xe9 }, 0xf7bc, IMAGE_PLT },
		/* endbr64; push $n; jmp; nop */
		{ { 0xf3, 0x0f, 0x1e, 0xfa, 0x68, 0, 0, 0, 0, 0xe9, 0, 0, 0, 0, 0x66, 0x90 },
		  0x3de0, IMAGE_PLT_PAD },
		/* endbr64; jmp *x(%rip); nop */
		{ { 0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0, 0, 0, 0, 0x66, 0x0f, 0x1f, 0x44, 0, 0 },
		  0x03c0, IMAGE_CALLED },
	};
	const size_t head = plt_entry_is(&first, code) ? PLT_ENTRY_SIZE : 0;

	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		if (!plt_entries_are(&entries[i], code + head, size - head))
			continue;
		/* An entry has pushed its number before it comes here. */
		if (head) {
			image_part_add(known, 6, IMAGE_PUSHED);
			image_part_add(known, PLT_ENTRY_SIZE - 6, IMAGE_PUSHED_TWO);
		}
		image_part_add(known, size - head, entries[i].stack);
		return;
	}
}

/* As lld writes it; other linkers give theirs information. */
static int image_plt_x86(struct image_file *f, const Elf64_Shdr *sh, struct image_known *known)
{
	const uint64_t size = sh->sh_size;
	uint8_t *code;
	int err;

	if (sh->sh_addr % PLT_ENTRY_SIZE || size % PLT_ENTRY_SIZE || size > PLT_SIZE_MAX)
		return 0;
	code = malloc(size);
	if (!code)
		return deny(f->why, -ENOMEM, "no memory for its %llu bytes of .plt",
			    (unsigned long long)size);
	err = image_bytes(f, sh->sh_offset, code, size);
	if (!err)
		image_plt_parts(code, size, known);
	free(code);
	return err;
}

/*
 * The C library's files give these sections their beginning and their end, and others put calls
 * between them.  0: the code at `at` is another one; else the size of the instruction.
 */
static uint32_t image_init_step(const uint8_t *at, size_t left)
{
	static const struct {
		uint8_t size, nbytes, bytes[3];
	} ops[] = {
		{ 7, 3, { 0x48, 0x8b, 0x05 } },	/* mov x(%rip),%rax */
		{ 7, 3, { 0x48, 0x8d, 0x05 } },	/* lea x(%rip),%rax */
		{ 3, 3, { 0x48, 0x85, 0xc0 } },	/* test %rax,%rax */
		{ 2, 1, { 0x74 } },		/* je */
		{ 2, 2, { 0xff, 0xd0 } },	/* call *%rax */
		{ 6, 2, { 0xff, 0x15 } },	/* call *x(%rip) */
		{ 5, 1, { 0xe8 } },		/* call */
		{ 1, 1, { 0x90 } },		/* nop */
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].size <= left && !memcmp(at, ops[i].bytes, ops[i].nbytes))
			return ops[i].size;
	return 0;
}

/* endbr64, or not; sub $8,%rsp; calls; add $8,%rsp; ret.  No part: something else. */
static int image_init_read(struct image_file *f, const Elf64_Shdr *sh, struct image_known *known)
{
	static const uint8_t pad[] = { 0xf3, 0x0f, 0x1e, 0xfa }, sub[] = { 0x48, 0x83, 0xec, 8 },
			     add[] = { 0x48, 0x83, 0xc4, 8, 0xc3 };
	uint8_t code[INIT_SIZE_MAX];
	const size_t size = sh->sh_size;
	uint32_t step, at = 0, first;
	int err;

	if (size > sizeof(code) || size < sizeof(sub) + sizeof(add))
		return 0;
	err = image_bytes(f, sh->sh_offset, code, size);
	if (err)
		return err;
	if (!memcmp(code, pad, sizeof(pad)))
		at = sizeof(pad);
	if (memcmp(code + at, sub, sizeof(sub)) != 0)
		return 0;
	first = at += sizeof(sub);
	while (at + sizeof(add) < size && (step = image_init_step(code + at, size - at)) != 0)
		at += step;
	if (at + sizeof(add) != size || memcmp(code + at, add, sizeof(add)) != 0)
		return 0;
	image_part_add(known, first, IMAGE_CALLED);
	image_part_add(known, size - 1 - first, IMAGE_PUSHED);
	image_part_add(known, 1, IMAGE_CALLED);
	return 0;
}

static int image_known_read(struct image_file *f, struct image *image)
{
	static const struct {
		enum unwind_arch arch;
		const char *section;
		int (*read)(struct image_file *f, const Elf64_Shdr *sh, struct image_known *known);
	} all[] = {
		{ UNWIND_ARM64, ".plt", image_plt_arm64 },
		{ UNWIND_ARM64, ".iplt", image_plt_arm64 },
		{ UNWIND_X86_64, ".plt", image_plt_x86 },
		{ UNWIND_X86_64, ".plt.sec", image_plt_x86 },
		{ UNWIND_X86_64, ".iplt", image_plt_x86 },
		{ UNWIND_X86_64, ".init", image_init_read },
		{ UNWIND_X86_64, ".fini", image_init_read },
	};
	int err = 0;

	for (unsigned int i = 0; f->sections && !err && i < f->head.e_shnum; i++) {
		const Elf64_Shdr *sh = &f->sections[i];

		if (sh->sh_type != SHT_PROGBITS || !(sh->sh_flags & SHF_EXECINSTR))
			continue;
		for (size_t k = 0; !err && k < sizeof(all) / sizeof(all[0]); k++) {
			struct image_known *known = &image->known[image->nknown];

			if (all[k].arch != image->arch || image->nknown == IMAGE_KNOWN ||
			    !image_section_is(f, sh, all[k].section))
				continue;
			*known = (struct image_known){ .start = sh->sh_addr };
			err = all[k].read(f, sh, known);
			image->nknown += known->size != 0;
		}
	}
	return err;
}

/* --- the vdso --------------------------------------------------------------------------------- */

/*
 * Since Linux 5.8 arm64's trampoline has no information: it is known by its instructions.  A
 * handler's return address is its start, so that the instruction before it, a nop, belongs to it.
 */
static int image_trampoline_find(struct image_file *f, struct image *image)
{
	static const uint32_t code[] = { 0xd2801168, 0xd4000001 };	/* mov x8, #139; svc #0 */
	const Elf64_Phdr *ph = image_segment(f, image->code[0].start);
	uint32_t words[sizeof(code) / sizeof(code[0])];
	int err = 0;

	if (!ph)
		return 0;
	for (uint64_t at = 4; !err && at + sizeof(code) <= ph->p_filesz; at += 4) {
		err = image_bytes(f, ph->p_offset + at, words, sizeof(words));
		if (err || memcmp(words, code, sizeof(code)) != 0)
			continue;
		image->trampoline = ph->p_vaddr + at - 4;
		image->trampoline_size = 4 + sizeof(code);
		break;
	}
	return err;
}

int image_read(struct image *image, const struct unwind_input *in, struct reason *why)
{
	struct image_file f = { .in = in, .why = why };
	int err;

	*image = (struct image){ .ncode = 0 };
	err = image_head_read(&f, image);
	err = err ?: image_code_read(&f, image);
	err = err ?: image_sections_read(&f);
	err = err ?: image_frame_read(&f, image);
	err = err ?: image_known_read(&f, image);
	if (!err && in->vdso) {
		image->entry = 0;
		err = image->arch == UNWIND_ARM64 ? image_trampoline_find(&f, image) : 0;
	}
	free(f.sections);
	free(f.phdrs);
	return err;
}

void image_free(struct image *image)
{
	free(image->owned);
	image->owned = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* ELF files, through libelf: see elf.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf.h"

#define SITES	     "ktr_sites"
#define HEADERS_MAX  (1u << 20)		/* segments: a core has one for each mapping */
#define NAMES_MAX    (16u << 20)	/* bytes of sections' names */
#define NOTES_MAX    (256u << 20)	/* … of one segment of notes */
#define IMAGE_SIZE   (64u << 10)	/* at the start of a loaded file, where its notes are */

static int elf_read_headers(struct elf *elf)
{
	const union { uint16_t word; uint8_t low; } order = { 1 };
	const char *ident = elf_getident(elf->file, NULL);
	GElf_Ehdr h;

	if (!ident || elf_kind(elf->file) != ELF_K_ELF || ident[EI_CLASS] != ELFCLASS64 ||
	    ident[EI_DATA] != (order.low ? ELFDATA2LSB : ELFDATA2MSB))
		return -ENOEXEC;
	/* A number of segments that exceeds 16 bits is in section 0. */
	elf_getscn(elf->file, 0);
	if (!gelf_getehdr(elf->file, &h) || elf_getphdrnum(elf->file, &elf->nheaders) != 0)
		return -ENODATA;
	if (elf->nheaders > HEADERS_MAX)
		return -ENOEXEC;
	elf->type = h.e_type;
	elf->headers = calloc(elf->nheaders + 1, sizeof(*elf->headers));
	if (!elf->headers)
		return -ENOMEM;
	/* Copied, because headers in a file may be unaligned. */
	for (size_t i = 0; i < elf->nheaders; i++)
		if (!gelf_getphdr(elf->file, (int)i, &elf->headers[i]))
			return -ENODATA;
	return 0;
}

static void elf_find_sites(struct elf *elf)
{
	Elf_Scn *section = NULL;
	const char *name;
	GElf_Shdr h;
	size_t names;

	if (elf_getshdrstrndx(elf->file, &names) != 0)
		return;
	if (!gelf_getshdr(elf_getscn(elf->file, names), &h) || h.sh_size > NAMES_MAX)
		return;
	while ((section = elf_nextscn(elf->file, section))) {
		name = gelf_getshdr(section, &h) ? elf_strptr(elf->file, names, h.sh_name) : NULL;
		if (!name || !(h.sh_flags & SHF_ALLOC) || strcmp(name, SITES) != 0)
			continue;
		elf->sites = h.sh_addr;
		elf->sites_end = h.sh_addr + h.sh_size;
		return;
	}
}

static uint32_t elf_read_build_id(const struct elf *elf, uint8_t id[ELF_BUILD_ID])
{
	size_t size;
	const void *note = elf_note(elf, "GNU", NT_GNU_BUILD_ID, &size);

	if (!note)
		return 0;
	size = size < ELF_BUILD_ID ? size : ELF_BUILD_ID;
	memcpy(id, note, size);
	return (uint32_t)size;
}

int elf_open(struct elf *elf, struct memory *mem)
{
	int err;

	*elf = (struct elf){ .mem = mem };
	elf_version(EV_CURRENT);
	elf->file = mem->map ? elf_memory((char *)(uintptr_t)mem->map, mem->size) :
			       elf_begin(mem->fd, ELF_C_READ, NULL);
	err = elf->file ? elf_read_headers(elf) : -ENOEXEC;
	if (err) {
		elf_close(elf);
		return err;
	}
	elf_find_sites(elf);
	elf->build_id_size = elf_read_build_id(elf, elf->build_id);
	return 0;
}

/* Maps the first bytes only, as a file without sections. */
uint32_t elf_loaded_build(struct memory *mem, uint64_t base, uint8_t id[ELF_BUILD_ID])
{
	Elf64_Ehdr *image = malloc(IMAGE_SIZE);
	ssize_t n = image ? mem->read(mem, base, image, IMAGE_SIZE) : 0;
	uint32_t size = 0;
	struct memory file;
	struct elf elf;

	if (n >= (ssize_t)sizeof(*image)) {
		image->e_shoff = 0;
		image->e_shnum = 0;
		image->e_shstrndx = SHN_UNDEF;
		memory_map(&file, image, (uint64_t)n);
		if (elf_open(&elf, &file) == 0) {
			size = elf_read_build_id(&elf, id);
			elf_close(&elf);
		}
	}
	free(image);
	return size;
}

void elf_close(struct elf *elf)
{
	free(elf->headers);
	elf_end(elf->file);
	*elf = (struct elf){ 0 };
}

/* The number of bytes available at the address, and their place. */
static uint64_t elf_locate(const struct elf *elf, uint64_t address, uint64_t *at)
{
	for (size_t i = 0; i < elf->nheaders; i++) {
		const GElf_Phdr *p = &elf->headers[i];

		if (p->p_type != PT_LOAD || address < p->p_vaddr ||
		    address - p->p_vaddr >= p->p_filesz)
			continue;
		*at = p->p_offset + (address - p->p_vaddr);
		return p->p_filesz - (address - p->p_vaddr);
	}
	return 0;
}

int elf_get(const struct elf *elf, uint64_t address, void *to, size_t len)
{
	uint64_t at;

	return elf_locate(elf, address, &at) >= len ? memory_get(elf->mem, at, to, len) : -EFAULT;
}

int elf_string(const struct elf *elf, uint64_t address, char *to, size_t size)
{
	uint64_t at, there = elf_locate(elf, address, &at);
	bool last = there < size - 1;
	int len;

	if (there == 0)
		return -EFAULT;
	/* A string may not run over its segment's end. */
	len = memory_string(elf->mem, at, to, last ? (size_t)there + 1 : size);
	return len == -ENAMETOOLONG && last ? -EFAULT : len;
}

const void *elf_note(const struct elf *elf, const char *name, uint32_t type, size_t *size)
{
	for (size_t i = 0; i < elf->nheaders; i++) {
		const GElf_Phdr *p = &elf->headers[i];
		size_t at = 0, name_at, content_at;
		Elf_Data *notes = NULL;
		GElf_Nhdr note;

		if (p->p_type == PT_NOTE && p->p_filesz <= NOTES_MAX)
			notes = elf_getdata_rawchunk(elf->file, (int64_t)p->p_offset, p->p_filesz,
						     p->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
		while (notes && (at = gelf_getnote(notes, at, &note, &name_at, &content_at)) > 0) {
			if (note.n_type != type || note.n_namesz != strlen(name) + 1 ||
			    memcmp((const char *)notes->d_buf + name_at, name, note.n_namesz) != 0)
				continue;
			*size = note.n_descsz;
			return (const char *)notes->d_buf + content_at;
		}
	}
	return NULL;
}

bool elf_same_build(const uint8_t *a, uint32_t na, const uint8_t *b, uint32_t nb)
{
	return na && na == nb && memcmp(a, b, na) == 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The ELF file with the code: its build id, and bytes by address.  The file is untrusted. */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "pmcannotate.h"
#include "cli/common/common.h"

#define UNFIT "Impossible to read the binary file \"%s\": "

static int binary_open_file(struct binary *b)
{
	struct stat st;

	/* Opening a FIFO or a device may block. */
	b->fd = open(b->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (b->fd < 0 || fstat(b->fd, &st) != 0)
		return fail_errno(EXIT_FAILURE, "Impossible to locate the binary file \"%s\"",
				  b->name);
	if (!S_ISREG(st.st_mode))
		return fail(EXIT_FAILURE, UNFIT "it is not a file", b->name);
	b->changed = st.st_mtime;
	b->path = realpath(b->name, NULL);
	if (!b->path)
		return fail_errno(EXIT_FAILURE, "Impossible to locate the binary file \"%s\"",
				  b->name);
	return 0;
}

static int binary_add_segment(struct binary *b, uint64_t offset, uint64_t address, uint64_t size)
{
	if (array_extend(b->segments, b->nsegments) != 0)
		return -ENOMEM;
	b->segments[b->nsegments++] = (struct code_segment){ offset, address, size };
	return 0;
}

static int binary_read_segments(struct binary *b)
{
	size_t n = 0;
	int err = 0;

	if (elf_getphdrnum(b->elf, &n) != 0)
		return 0;
	for (size_t i = 0; i < n && i < INT16_MAX && !err; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(b->elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X)
			err = binary_add_segment(b, p.p_offset, p.p_vaddr, p.p_filesz);
	}
	return err;
}

static void binary_read_id(struct binary *b)
{
	const void *id;
	ssize_t len = dwelf_elf_gnu_build_id(b->elf, &id);

	if (len <= 0 || len > (ssize_t)sizeof(b->id))
		return;
	memcpy(b->id, id, (size_t)len);
	b->idlen = (uint8_t)len;
}

static bool binary_is_kernel(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr h;
		const char *name = NULL;

		if (gelf_getshdr(section, &h))
			name = elf_strptr(elf, names, h.sh_name);
		if (name && strcmp(name, "__ksymtab") == 0)
			return true;
	}
	return false;
}

int binary_open(struct binary *b, const char *name)
{
	GElf_Ehdr head;
	int code;

	*b = (struct binary){ .name = name, .fd = -1 };
	code = binary_open_file(b);
	if (code)
		return code;
	elf_version(EV_CURRENT);
	b->elf = elf_begin(b->fd, ELF_C_READ_MMAP, NULL);
	if (!b->elf || elf_kind(b->elf) != ELF_K_ELF || !gelf_getehdr(b->elf, &head))
		return fail(EXIT_FAILURE, UNFIT "it is not ELF", name);
	if (head.e_type == ET_REL)
		return fail(EXIT_FAILURE, UNFIT "it is not linked, so its addresses are not those "
			    "of the log (a kernel module?)", name);
	b->machine = head.e_machine;
	if (binary_read_segments(b) != 0)
		return fail(EXIT_FAILURE, UNFIT "no memory", name);
	if (!b->nsegments)
		return fail(EXIT_FAILURE, UNFIT "it has no code (only debug information?)", name);
	binary_read_id(b);
	b->kernel = binary_is_kernel(b->elf);
	return 0;
}

void binary_close(struct binary *b)
{
	if (b->elf)
		elf_end(b->elf);
	if (b->fd >= 0)
		close(b->fd);
	free(b->segments);
	free(b->path);
}

const uint8_t *binary_code(const struct binary *b, uint64_t address, size_t *len)
{
	size_t size = 0;
	const char *file = elf_rawfile(b->elf, &size);

	for (size_t i = 0; file && i < b->nsegments; i++) {
		const struct code_segment *s = &b->segments[i];
		uint64_t at = address - s->address, left;

		if (address < s->address || at >= s->size || s->offset >= size ||
		    at >= size - s->offset)
			continue;
		left = size - s->offset < s->size ? size - s->offset : s->size;
		left -= at;
		*len = left < *len ? (size_t)left : *len;
		return (const uint8_t *)file + s->offset + at;
	}
	return NULL;
}

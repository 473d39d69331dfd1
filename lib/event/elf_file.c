/* SPDX-License-Identifier: BSD-2-Clause */
/* See elf_file.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_file.h"

#ifdef __aarch64__
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

#define PHDRS_MAX 512u

int elf_file_read(const struct elf_file *f, void *buf, uint64_t len, uint64_t at)
{
	for (uint64_t done = 0; done < len;) {
		ssize_t n = pread(f->fd, (char *)buf + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOEXEC;
		done += (uint64_t)n;
	}
	return 0;
}

void *elf_file_copy(const struct elf_file *f, uint64_t at, uint64_t len)
{
	char *copy = at <= f->size && len <= f->size - at ? malloc(len + 1) : NULL;

	if (!copy)
		return NULL;
	copy[len] = '\0';
	if (!elf_file_read(f, copy, len, at))
		return copy;
	free(copy);
	return NULL;
}

/* --- the file --------------------------------------------------------------------------------- */

static int elf_deny(const struct elf_file *f, const char *text, struct reason *why)
{
	return deny(why, -EINVAL, "%s is %s", f->path, text);
}

int elf_file_begin(struct elf_file *f, int fd, const char *path, struct reason *why)
{
	Elf64_Ehdr h;
	struct stat st;

	*f = (struct elf_file){ .fd = fd, .path = path };
	if (fstat(f->fd, &st))
		return deny(why, -errno, "%s: %s", f->path, strerror(errno));
	f->size = (uint64_t)st.st_size;
	if (f->size < sizeof(h) || elf_file_read(f, &h, sizeof(h), 0) ||
	    memcmp(h.e_ident, ELFMAG, SELFMAG))
		return elf_deny(f, "no program or shared object: it is not an ELF file", why);
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != MACHINE)
		return elf_deny(f, "a program for another architecture, or one of 32 bits", why);
	if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
		return elf_deny(f, "neither a program nor a shared object", why);
	if (!h.e_phnum || h.e_phnum > PHDRS_MAX || h.e_phentsize != sizeof(Elf64_Phdr) ||
	    (h.e_shnum && h.e_shentsize != sizeof(Elf64_Shdr)))
		return elf_deny(f, "damaged: its tables have impossible sizes", why);
	f->nsegments = h.e_phnum;
	f->nsections = h.e_shnum;
	f->segment = elf_file_copy(f, h.e_phoff, h.e_phnum * sizeof(Elf64_Phdr));
	f->section = elf_file_copy(f, h.e_shoff, h.e_shnum * sizeof(Elf64_Shdr));
	f->names = h.e_shstrndx;
	if (!f->segment || !f->section)
		return elf_deny(f, "damaged: its tables are behind its end", why);
	return 0;
}

void elf_file_end(struct elf_file *f)
{
	free(f->segment);
	free(f->section);
}

const Elf64_Phdr *elf_file_segment_at(const struct elf_file *f, uint64_t address, uint32_t flags)
{
	for (unsigned int i = 0; i < f->nsegments; i++) {
		const Elf64_Phdr *p = &f->segment[i];

		if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags &&
		    address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}

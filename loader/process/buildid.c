/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of other users are read here: every offset and length is checked. */
#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "buildid.h"
#include "loader/base/base.h"

#define NOTES_MAX 4096u
#define PHDRS_MAX 64u

void buildid_set(struct buildid *b, const void *id, size_t len)
{
	b->len = len <= sizeof(b->id) ? (uint8_t)len : 0;
	memcpy(b->id, id, b->len);
}

void buildid_of_notes(struct buildid *b, const void *notes, size_t size)
{
	const uint8_t *p = notes;
	Elf64_Nhdr h;

	b->len = 0;
	while (!b->len && size >= sizeof(h)) {
		size_t name, desc;

		memcpy(&h, p, sizeof(h));
		p += sizeof(h);
		size -= sizeof(h);
		name = ((size_t)h.n_namesz + 3) / 4 * 4;
		desc = ((size_t)h.n_descsz + 3) / 4 * 4;
		if (name > size || desc > size - name)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(p, "GNU", 4))
			buildid_set(b, p + name, h.n_descsz);
		p += name + desc;
		size -= name + desc;
	}
}

void buildid_of_notes_file(struct buildid *b, const char *path)
{
	char notes[NOTES_MAX];
	int n = file_read(AT_FDCWD, path, notes, sizeof(notes));

	buildid_of_notes(b, notes, n > 0 ? (size_t)n : 0);
}

static void buildid_of_elf_notes(struct buildid *b, int fd, const Elf64_Phdr *ph)
{
	uint8_t notes[NOTES_MAX];
	size_t size = ph->p_filesz < sizeof(notes) ? ph->p_filesz : sizeof(notes);
	ssize_t n = pread(fd, notes, size, (off_t)ph->p_offset);

	if (n > 0)
		buildid_of_notes(b, notes, (size_t)n);
}

static void buildid_of_elf(struct buildid *b, int fd)
{
	Elf64_Phdr ph[PHDRS_MAX];
	Elf64_Ehdr h;
	ssize_t n;

	if (pread(fd, &h, sizeof(h), 0) != sizeof(h) || memcmp(h.e_ident, ELFMAG, SELFMAG) ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof(ph[0]))
		return;
	n = pread(fd, ph, sizeof(ph), (off_t)h.e_phoff);
	for (unsigned int i = 0; !b->len && i < h.e_phnum && n >= (ssize_t)sizeof(ph[0]); i++) {
		if (ph[i].p_type == PT_NOTE)
			buildid_of_elf_notes(b, fd, &ph[i]);
		n -= (ssize_t)sizeof(ph[0]);
	}
}

void buildid_of_file(struct buildid *b, const char *path)
{
	struct stat st;
	int fd;

	b->len = 0;
	/* Opening a device may have any effect; a lease is not waited for. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	buildid_of_elf(b, fd);
	close(fd);
}

void buildid_of_vdso(struct buildid *b, uint64_t address)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	Elf64_Ehdr h;
	Elf64_Phdr ph;

	b->len = 0;
	if (!image || address >> 32 == 0)
		return;
	memcpy(&h, image, sizeof(h));
	for (unsigned int i = 0; !b->len && i < h.e_phnum; i++) {
		memcpy(&ph, image + h.e_phoff + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_NOTE)
			buildid_of_notes(b, image + ph.p_offset, ph.p_filesz);
	}
}

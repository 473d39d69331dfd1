/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the interpreter's objects in an ELF file, by its symbols. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "layout.h"

#define PHDRS_MAX   512u
#define SHDRS_MAX   4096u
#define SYMBOLS_MAX (512u << 10)
#define NAMES_MAX   (32u << 20)		/* bytes of a table of names */

enum { RUNTIME, VERSION, CODE_TYPE, TEXT_TYPE, BYTES_TYPE, WANTED };
static const char *const wanted[WANTED] = {
	"_PyRuntime", "Py_Version", "PyCode_Type", "PyUnicode_Type", "PyBytes_Type",
};

struct python_file {
	int fd;
	Elf64_Ehdr head;
	Elf64_Phdr *phdrs;
	Elf64_Shdr *shdrs;
	Elf64_Sym *symbols;
	char *names;
	uint64_t found[WANTED];		/* addresses; 0: not found */
	struct reason *why;
};

/* Whole reads only: a file that ends earlier is damaged. */
static int file_bytes(const struct python_file *f, uint64_t offset, void *buf, size_t len)
{
	size_t done = 0;

	if (offset > INT64_MAX - len)
		return deny(f->why, -EBADMSG, "it is truncated");
	while (done < len) {
		ssize_t n = pread(f->fd, (char *)buf + done, len - done, (off_t)(offset + done));

		if (n < 0)
			return deny(f->why, -EIO, "it cannot be read: %s", strerror(errno));
		if (!n)
			return deny(f->why, -EBADMSG, "it is truncated");
		done += (size_t)n;
	}
	return 0;
}

/* n elements, at most `max` of them, into new memory. */
static int file_array(const struct python_file *f, uint64_t offset, uint64_t n, uint64_t max,
		      size_t size, const char *what, void **to)
{
	if (n > max)
		return deny(f->why, -E2BIG, "it has more than %llu %s", (unsigned long long)max,
			    what);
	free(*to);
	*to = calloc(n + 1, size);
	return *to ? file_bytes(f, offset, *to, n * size) :
		     deny(f->why, -ENOMEM, "no memory for its %s", what);
}

static int file_head_read(struct python_file *f)
{
	const Elf64_Ehdr *h = &f->head;
	int err = file_bytes(f, 0, &f->head, sizeof(f->head));

	if (err == -EIO)
		return err;
	if (err || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_ident[EI_DATA] != ELFDATA2LSB)
		return deny(f->why, -ENOEXEC, "it is no 64-bit ELF file");
	if (h->e_machine != EM_X86_64 && h->e_machine != EM_AARCH64)
		return deny(f->why, -ENOEXEC, "it is for machine %u, not x86-64 or arm64",
			    h->e_machine);
	if (h->e_phentsize != sizeof(*f->phdrs))
		return deny(f->why, -EBADMSG, "its program headers have %u bytes", h->e_phentsize);
	if (!h->e_shoff || h->e_shentsize != sizeof(*f->shdrs))
		return deny(f->why, -ENODATA, "it has no sections");
	err = file_array(f, h->e_phoff, h->e_phnum, PHDRS_MAX, sizeof(*f->phdrs),
			 "program headers", (void **)&f->phdrs);
	return err ?: file_array(f, h->e_shoff, h->e_shnum, SHDRS_MAX, sizeof(*f->shdrs),
				 "sections", (void **)&f->shdrs);
}

/* --- symbols ---------------------------------------------------------------------------------- */

static void symbol_take(struct python_file *f, const Elf64_Sym *s, const char *name)
{
	if (s->st_shndx == SHN_UNDEF || !s->st_value || ELF64_ST_TYPE(s->st_info) != STT_OBJECT)
		return;
	for (unsigned int i = 0; i < WANTED; i++)
		if (!f->found[i] && !strcmp(name, wanted[i]))
			f->found[i] = s->st_value;
}

/* A table of symbols; its names are in another section. */
static int symbols_read(struct python_file *f, const Elf64_Shdr *sh)
{
	const Elf64_Shdr *names;
	const uint64_t n = sh->sh_size / sizeof(*f->symbols);
	int err;

	if (sh->sh_link >= f->head.e_shnum || sh->sh_entsize != sizeof(*f->symbols))
		return deny(f->why, -EBADMSG, "its symbols are damaged");
	names = &f->shdrs[sh->sh_link];
	err = file_array(f, sh->sh_offset, n, SYMBOLS_MAX, sizeof(*f->symbols), "symbols",
			 (void **)&f->symbols);
	err = err ?: file_array(f, names->sh_offset, names->sh_size, NAMES_MAX, 1,
				"bytes of names", (void **)&f->names);
	if (err)
		return err;
	f->names[names->sh_size] = '\0';
	for (uint64_t i = 0; i < n; i++)
		if (f->symbols[i].st_name < names->sh_size)
			symbol_take(f, &f->symbols[i], f->names + f->symbols[i].st_name);
	return 0;
}

static bool symbols_are_found(const struct python_file *f)
{
	for (unsigned int i = 0; i < WANTED; i++)
		if (!f->found[i])
			return false;
	return true;
}

/* Exported symbols first: a stripped file has no others. */
static int symbols_find(struct python_file *f)
{
	static const uint32_t types[] = { SHT_DYNSYM, SHT_SYMTAB };
	int err = 0;

	for (unsigned int t = 0; t < 2; t++)
		for (unsigned int i = 0; !err && i < f->head.e_shnum; i++)
			if (f->shdrs[i].sh_type == types[t] && !symbols_are_found(f))
				err = symbols_read(f, &f->shdrs[i]);
	if (!err && !symbols_are_found(f))
		return deny(f->why, -ENODATA, "it has no Python interpreter of 3.11 or newer");
	return err;
}

/* --- the version ------------------------------------------------------------------------------ */

/* Initialized data at an address. */
static int file_data(const struct python_file *f, uint64_t address, void *to, size_t size)
{
	for (unsigned int i = 0; i < f->head.e_phnum; i++) {
		const Elf64_Phdr *ph = &f->phdrs[i];
		const uint64_t at = address - ph->p_vaddr;

		if (ph->p_type == PT_LOAD && address >= ph->p_vaddr && at < ph->p_filesz &&
		    size <= ph->p_filesz - at)
			return ph->p_offset > INT64_MAX ?
				       deny(f->why, -EBADMSG, "it is truncated") :
				       file_bytes(f, ph->p_offset + at, to, size);
	}
	return deny(f->why, -EBADMSG, "its interpreter's data is not in the file");
}

static int file_layout(const struct python_file *f, struct python_layout *l)
{
	uint64_t version, words[PYTHON_OFFSETS_WORDS] = { 0 };
	int err = file_data(f, f->found[VERSION], &version, sizeof(version));

	/* Older versions may have it among data that begins as zeroes. */
	if (!err && version >> 16 > 0x030c)
		err = file_data(f, f->found[RUNTIME], words, sizeof(words));
	return err ?: python_layout_find(l, version, words, f->why);
}

int python_file_read(struct python_process *out, int fd, struct reason *why)
{
	struct python_file f = { .fd = fd, .why = why };
	int err = file_head_read(&f);

	*out = (struct python_process){ .runtime = 0 };
	err = err ?: symbols_find(&f);
	err = err ?: file_layout(&f, &out->layout);
	if (!err) {
		out->runtime = f.found[RUNTIME];
		out->code_type = f.found[CODE_TYPE];
		out->text_type = f.found[TEXT_TYPE];
		out->bytes_type = f.found[BYTES_TYPE];
	}
	free(f.phdrs);
	free(f.shdrs);
	free(f.symbols);
	free(f.names);
	return err;
}

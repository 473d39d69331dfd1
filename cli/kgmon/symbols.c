/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An ELF file for gprof(1): a .text that has no contents and covers all of the kernel's code, and
 * functions as global symbols, because gprof leaves out some local ones.  gprof gives a symbol all
 * samples up to the next symbol, so a gap between functions has a symbol of its own.  Only
 * functions with samples are in the file, and their neighbours: gprof takes minutes for all.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/pwrite.h"
#include "kgmon.h"

#define UNKNOWN "(no symbol)"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "the machine of the kernel's symbols"
#endif

enum { SECTION_NONE, SECTION_TEXT, SECTION_SYMBOLS, SECTION_STRINGS, SECTION_NAMES, SECTIONS };

static void symbol_add(struct buf *symbols, uint64_t start, uint64_t size, uint32_t name)
{
	const Elf64_Sym symbol = {
		.st_name = name, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = SECTION_TEXT, .st_value = start, .st_size = size,
	};

	buf_add(symbols, (const char *)&symbol, sizeof(symbol));
}

static void strings_add(struct buf *symbols, struct buf *strings, const struct kernel_names *names,
			const struct kernel_name *e)
{
	const char *name = names->text.data + e->name;

	symbol_add(symbols, e->start, e->size, (uint32_t)strings->len);
	buf_add(strings, name, strlen(name) + 1);
}

/* The wanted names, each with its end: a symbol of the next function, or of an unknown one. */
static void symbols_fill(const struct kernel_names *names, struct buf *symbols, struct buf *strings)
{
	const struct kernel_name *list = names->list;
	const Elf64_Sym none = { 0 };

	buf_add(symbols, (const char *)&none, sizeof(none));
	buf_add(strings, "\0" UNKNOWN, sizeof("\0" UNKNOWN));
	if (names->lowest)
		symbol_add(symbols, names->lowest, list[0].start - names->lowest, 1);
	for (size_t i = 0; i < names->n; i++) {
		uint64_t end = list[i].start + list[i].size;
		uint64_t next = i + 1 < names->n ? list[i + 1].start : end + 1;

		if (list[i].wanted || (i ? list[i - 1].wanted : names->lowest != 0))
			strings_add(symbols, strings, names, &list[i]);
		if (list[i].wanted && end < next)
			symbol_add(symbols, end, next - end, 1);
	}
}

static Elf64_Ehdr header_fill(uint64_t sections_at)
{
	Elf64_Ehdr head = {
		.e_type = ET_EXEC, .e_machine = MACHINE, .e_version = EV_CURRENT,
		.e_shoff = sections_at, .e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = SECTIONS, .e_shstrndx = SECTION_NAMES,
	};

	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = ELFDATA2LSB;
	head.e_ident[EI_VERSION] = EV_CURRENT;
	return head;
}

int symbols_write(const struct kernel_names *names, int fd)
{
	static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab";
	struct buf symbols = { 0 }, strings = { 0 };
	Elf64_Shdr section[SECTIONS] = { 0 };
	uint64_t low = (names->lowest ? names->lowest : names->list[0].start) & ~4095ull;
	const struct kernel_name *last = &names->list[names->n - 1];
	Elf64_Ehdr head = header_fill(sizeof(Elf64_Ehdr));
	int err;

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the header");
	symbols_fill(names, &symbols, &strings);
	section[SECTION_TEXT] = (Elf64_Shdr){
		.sh_name = 1, .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
		.sh_addr = low, .sh_offset = sizeof(head) + sizeof(section),
		.sh_size = last->start + last->size + 1 - low, .sh_addralign = 16,
	};
	section[SECTION_SYMBOLS] = (Elf64_Shdr){
		.sh_name = 7, .sh_type = SHT_SYMTAB, .sh_offset = sizeof(head) + sizeof(section),
		.sh_size = symbols.len, .sh_link = SECTION_STRINGS, .sh_info = 1,
		.sh_addralign = 8, .sh_entsize = sizeof(Elf64_Sym),
	};
	section[SECTION_STRINGS] = (Elf64_Shdr){
		.sh_name = 15, .sh_type = SHT_STRTAB,
		.sh_offset = section[SECTION_SYMBOLS].sh_offset + symbols.len,
		.sh_size = strings.len, .sh_addralign = 1,
	};
	section[SECTION_NAMES] = (Elf64_Shdr){
		.sh_name = 23, .sh_type = SHT_STRTAB,
		.sh_offset = section[SECTION_STRINGS].sh_offset + section[SECTION_STRINGS].sh_size,
		.sh_size = sizeof(section_names), .sh_addralign = 1,
	};
	err = symbols.failed || strings.failed ? -ENOMEM : pwrite_all(fd, &head, sizeof(head), 0);
	err = err ?: pwrite_all(fd, section, sizeof(section), sizeof(head));
	err = err ?: pwrite_all(fd, symbols.data, symbols.len,
				section[SECTION_SYMBOLS].sh_offset);
	err = err ?: pwrite_all(fd, strings.data, strings.len,
				section[SECTION_STRINGS].sh_offset);
	err = err ?: pwrite_all(fd, section_names, sizeof(section_names),
				section[SECTION_NAMES].sh_offset);
	buf_free(&symbols);
	buf_free(&strings);
	return err;
}

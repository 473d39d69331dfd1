/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Symbol tables of ELF files.  libdwfl finds them (in the file, its debug file, its compressed
 * table).  Where symbols overlap, this file decides which one an address belongs to, once for all
 * addresses.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "object.h"

#define SYMBOLS_MAX (64u << 20)

/* A symbol while the table is made. */
struct candidate {
	const char *name;
	uint64_t start, end;	/* end: of its section, where it has no size of its own */
	uint64_t size;
	uint32_t quality;
};

struct candidates {
	struct candidate *list;
	size_t n, room;
};

/* Preference, as in a debugger: functions, then visible symbols, then symbols with a size. */
static uint32_t symbol_quality(const GElf_Sym *sym, const char *name)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);
	uint32_t binding = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? 2 : bind == STB_WEAK;
	uint32_t plain = 3;

	for (; plain > 0 && *name == '_'; name++)
		plain--;
	return (type == STT_FUNC || type == STT_GNU_IFUNC ? 64u : 0) + 16 * binding +
	       (sym->st_size ? 8u : 0) + plain;
}

static bool symbol_is_code(const GElf_Sym *sym, const char *name)
{
	switch (GELF_ST_TYPE(sym->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		/* Not arm64's marks of code and data, and not labels of the assembler. */
		return *name != '$' && strncmp(name, ".L", 2) != 0;
	default:
		return false;
	}
}

/* The string table of libdwfl's symbols: libelf checks the ends of strings, libdwfl does not. */
static size_t elf_strings(Elf *elf)
{
	Elf_Scn *section = NULL;
	size_t dynamic = 0;
	GElf_Shdr h;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &h))
			continue;
		if (h.sh_type == SHT_SYMTAB)
			return h.sh_link;
		if (h.sh_type == SHT_DYNSYM)
			dynamic = h.sh_link;
	}
	return dynamic;
}

static int candidates_add(struct candidates *c, const struct candidate *candidate)
{
	if (array_reserve(c->list, c->room, c->n + 1) != 0)
		return -ENOMEM;
	c->list[c->n++] = *candidate;
	return 0;
}

/* The end of the section of a symbol without size.  false: the section is no code. */
static bool section_code_end(Elf *elf, GElf_Word index, uint64_t bias, uint64_t *end)
{
	GElf_Shdr h;

	if (!gelf_getshdr(elf_getscn(elf, index), &h) || !(h.sh_flags & SHF_EXECINSTR))
		return false;
	*end = h.sh_addr + h.sh_size + bias;
	return true;
}

static int candidates_add_table(struct object *o, struct candidates *c)
{
	int n = dwfl_module_getsymtab(o->module);
	Elf *elf, *last = NULL;
	size_t strings = 0;
	int err = 0;

	for (int i = 0; !err && i < n && (unsigned int)i < SYMBOLS_MAX; i++) {
		struct candidate it = { 0 };
		GElf_Word section;
		Dwarf_Addr bias;
		GElf_Addr start;
		GElf_Sym sym;

		if (!dwfl_module_getsym_info(o->module, i, &sym, &start, &section, &elf, &bias) ||
		    !elf || section == SHN_UNDEF || section == SHN_ABS)
			continue;
		if (elf != last)
			strings = elf_strings(elf);
		last = elf;
		it.name = elf_strptr(elf, strings, sym.st_name);
		if (!it.name || !*it.name || !symbol_is_code(&sym, it.name) ||
		    !section_code_end(elf, section, bias, &it.end))
			continue;
		it.start = start;
		it.size = sym.st_size;
		if (it.size)
			it.end = start + it.size;
		it.quality = symbol_quality(&sym, it.name);
		if (it.end > it.start)
			err = candidates_add(c, &it);
	}
	return err;
}

static const char *stub_relocation(Elf *elf, Elf_Data *relocations, int i, size_t symtab)
{
	Elf_Scn *section = elf_getscn(elf, symtab);
	Elf_Data *symbols = section ? elf_getdata(section, NULL) : NULL;
	GElf_Shdr h;
	GElf_Rela rela;
	GElf_Sym sym;

	if (!symbols || !gelf_getshdr(section, &h) || !gelf_getrela(relocations, i, &rela) ||
	    !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym))
		return NULL;
	return elf_strptr(elf, h.sh_link, sym.st_name);
}

static const char *stub_name(struct arena *a, const char *name)
{
	size_t size = strlen(name) + sizeof("@plt");
	char *text = arena_alloc(a, size);

	if (text)
		snprintf(text, size, "%s@plt", name);
	return text;
}

/* Stubs that call through the PLT, one for each relocation of .rela.plt, in their order. */
static int candidates_add_stubs(struct object *o, Elf *elf, const GElf_Shdr *plt,
				Elf_Scn *relocations, struct candidates *c)
{
	const uint64_t stub = 16;
	Elf_Data *data = elf_getdata(relocations, NULL);
	GElf_Shdr h;
	uint64_t n, head;
	int err = 0;

	if (!data || !gelf_getshdr(relocations, &h) || !h.sh_entsize)
		return 0;
	n = h.sh_size / h.sh_entsize;
	head = plt->sh_size - n * stub;
	if (n > plt->sh_size / stub || head > 2 * stub)
		return 0;
	for (uint64_t i = 0; !err && i < n; i++) {
		const char *name = stub_relocation(elf, data, (int)i, h.sh_link);
		struct candidate it = { .size = stub,
					.start = plt->sh_addr + o->bias + head + i * stub };

		if (!name || !*name)
			continue;
		it.name = stub_name(&o->symbols->arena, name);
		it.end = it.start + stub;
		err = it.name ? candidates_add(c, &it) : -ENOMEM;
	}
	return err;
}

static int candidates_add_plt(struct object *o, struct candidates *c)
{
	Elf *elf = dwfl_module_getelf(o->module, &(GElf_Addr){ 0 });
	Elf_Scn *section = NULL, *relocations = NULL;
	GElf_Shdr h, plt = { 0 };
	const char *name;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) != 0)
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &h) || !(name = elf_strptr(elf, names, h.sh_name)))
			continue;
		if (strcmp(name, ".rela.plt") == 0)
			relocations = section;
		/* With guarded branches (IBT) calls go to .plt.sec. */
		if (strcmp(name, ".plt.sec") == 0 || (strcmp(name, ".plt") == 0 && !plt.sh_size))
			plt = h;
	}
	return relocations && plt.sh_size ? candidates_add_stubs(o, elf, &plt, relocations, c) : 0;
}

static int candidate_order(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->quality != y->quality)
		return x->quality < y->quality ? -1 : 1;
	return strcmp(y->name, x->name);
}

/* Candidates with the same start; if none has a size, the best one, up to the next start. */
static int entries_add_group(struct entries *e, struct candidate *c, size_t n, uint64_t next,
			     uint32_t rank)
{
	bool sized = false;
	int err = 0;

	for (size_t i = 0; i < n; i++)
		sized |= c[i].size != 0;
	for (size_t i = sized ? 0 : n - 1; !err && i < n; i++) {
		if (sized && !c[i].size)
			continue;
		if (!sized && next < c[i].end)
			c[i].end = next;
		err = entries_add(e, (struct entry){ .name = c[i].name, .start = c[i].start,
						     .size = c[i].end - c[i].start },
				  c[i].end, rank + (uint32_t)i);
	}
	return err;
}

/* A label without a size within a function belongs to the function. */
static int entries_add_candidates(struct entries *e, const struct candidates *c)
{
	uint64_t sized_end = 0;
	int err = 0;

	for (size_t i = 0, n; !err && i < c->n; i += n) {
		struct candidate *first = &c->list[i];
		bool sized = false;

		for (n = 0; i + n < c->n && first[n].start == first->start; n++)
			sized |= first[n].size != 0;
		if (sized || first->start >= sized_end)
			err = entries_add_group(e, first, n,
						i + n < c->n ? first[n].start : UINT64_MAX,
						(uint32_t)i);
		for (size_t j = 0; j < n; j++)
			if (first[j].size && first[j].end > sized_end)
				sized_end = first[j].end;
	}
	return err;
}

int elf_names(struct object *o)
{
	struct candidates c = { 0 };
	int err;

	if (!o->module)
		return 0;
	err = candidates_add_table(o, &c);
	if (!err)
		err = candidates_add_plt(o, &c);
	if (!err && c.n) {
		qsort(c.list, c.n, sizeof(*c.list), candidate_order);
		err = entries_add_candidates(&o->names, &c);
	}
	free(c.list);
	return err ? err : spans_sort(&o->names.spans);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* See elf_symbol.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "elf_frame.h"
#include "elf_symbol.h"
#include "elf_version.h"
#include "lib/base/nearest.h"
#include "lib/base/number.h"

#ifdef __aarch64__
#define ALIGNMENT 4u
#else
#define ALIGNMENT 1u
#endif

#define SYMS	  1024u			/* read at a time */
#define NAMES_MAX (1u << 30)		/* bytes of a table of names */
#define FOUND_MAX 4u			/* addresses that a refusal lists */

/* The search: the symbol, and what was found. */
struct elf_search {
	const char *symbol;
	size_t len;			/* of the name, without "@VERSION" behind it */
	bool by_address;
	uint64_t address;
	uint64_t found[FOUND_MAX];	/* different addresses … */
	unsigned int n;			/* … and their number */
	uint64_t length;		/* of the function at found[0] */
	bool chosen;			/* it is an IFUNC … */
	bool imported;			/* … or another object's … */
	bool data;			/* … or no function */
	bool all;			/* there is a table of all symbols */
	bool guessing;			/* a search for names like it … */
	struct nearest near;		/* … of which this is the best */
	char *names;			/* of the table that is being read … */
	uint64_t names_size;		/* … without the NUL that follows */
	struct elf_versions versions;
	char other[128];		/* the same name's versions, for a refusal */
	Elf64_Sym syms[SYMS];
};

/* --- symbols ---------------------------------------------------------------------------------- */

static const char *sym_name(const struct elf_search *s, const Elf64_Sym *sym)
{
	return sym->st_name < s->names_size ? s->names + sym->st_name : "";
}

static void search_add(struct elf_search *s, const Elf64_Sym *sym)
{
	for (unsigned int i = 0; i < s->n && i < FOUND_MAX; i++)
		if (s->found[i] == sym->st_value)
			return;
	if (!s->n)
		s->length = sym->st_size;
	if (s->n < FOUND_MAX)
		s->found[s->n] = sym->st_value;
	s->n++;
}

/* The symbol has the version that the name asks for: "@@V" the standard one, "@V" any. */
static bool version_fits(const struct elf_search *s, const char *version, bool standard)
{
	const char *wanted = s->symbol + s->len;

	if (wanted[1] == '@')
		return standard && !strcmp(wanted + 2, version);
	return !strcmp(wanted + 1, version);
}

/* Notes a version that the symbol has instead. */
static void search_note(struct elf_search *s, const char *name, const char *version, bool standard)
{
	size_t used = strlen(s->other);

	if (*version && used < sizeof(s->other))
		snprintf(s->other + used, sizeof(s->other) - used, "%s%s%s%s", used ? ", " : "",
			 name, standard ? "@@" : "@", version);
}

/* Symbols of their own may have the version in the name, too. */
static bool search_matches(struct elf_search *s, uint64_t number, const char *name, bool here)
{
	bool standard;
	const char *version;

	if (!strcmp(name, s->symbol))
		return true;
	if (!s->symbol[s->len] || strlen(name) != s->len || strncmp(name, s->symbol, s->len) != 0)
		return false;
	version = elf_version_name(&s->versions, number, &standard);
	if (here && version_fits(s, version, standard))
		return true;
	if (here)
		search_note(s, name, version, standard);
	return false;
}

static void search_symbol(struct elf_search *s, const struct elf_file *f, const Elf64_Sym *sym,
			  uint64_t number)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info);
	bool here = sym->st_shndx != SHN_UNDEF, code = type == STT_FUNC || type == STT_NOTYPE;
	const char *name = sym_name(s, sym);

	if (s->guessing) {
		if (here && type == STT_FUNC)
			nearest_offer(&s->near, name);
		return;
	}
	if (s->by_address ? !here || sym->st_value != s->address :
			    !search_matches(s, number, name, here))
		return;
	s->chosen |= here && type == STT_GNU_IFUNC;
	s->imported |= !here;
	if (here && code && elf_file_segment_at(f, sym->st_value, PF_X))
		search_add(s, sym);
	else if (here && type != STT_GNU_IFUNC)
		s->data = true;
}

static void search_table(struct elf_search *s, const struct elf_file *f, const Elf64_Shdr *table)
{
	const Elf64_Shdr *names = &f->section[table->sh_link];
	uint64_t n = table->sh_size / sizeof(Elf64_Sym), at = table->sh_offset, number = 0;

	s->names = NULL;
	if (names->sh_size <= NAMES_MAX)
		s->names = elf_file_copy(f, names->sh_offset, names->sh_size);
	s->names_size = names->sh_size;
	while (s->names && n) {
		uint64_t part = n < SYMS ? n : SYMS;

		if (elf_file_read(f, s->syms, part * sizeof(Elf64_Sym), at))
			break;
		for (uint64_t i = 0; i < part; i++)
			search_symbol(s, f, &s->syms[i], number++);
		at += part * sizeof(Elf64_Sym);
		n -= part;
	}
	free(s->names);
	s->names = NULL;
}

static void search_file(struct elf_search *s, const struct elf_file *f)
{
	for (unsigned int i = 0; i < f->nsections; i++) {
		const Elf64_Shdr *h = &f->section[i];

		if ((h->sh_type != SHT_SYMTAB && h->sh_type != SHT_DYNSYM) ||
		    h->sh_entsize != sizeof(Elf64_Sym) || h->sh_link >= f->nsections)
			continue;
		s->all |= h->sh_type == SHT_SYMTAB;
		elf_version_begin(&s->versions, f, i);
		search_table(s, f, h);
		elf_version_end(&s->versions);
	}
}

/* Unwind tables have a stripped file's functions, without names. */
static void search_frames(struct elf_search *s, const struct elf_file *f)
{
	if (elf_file_segment_at(f, s->address, PF_X) &&
	    !elf_frame_find(f, s->address, &s->length)) {
		s->found[0] = s->address;
		s->n = 1;
	}
}

/* --- refusals --------------------------------------------------------------------------------- */

static int search_deny_many(const struct elf_search *s, const struct elf_file *f,
			    struct reason *why)
{
	char list[FOUND_MAX * 24] = "";

	for (unsigned int i = 0; i < s->n && i < FOUND_MAX; i++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s0x%" PRIx64,
			 i ? ", " : "", s->found[i]);
	return deny(why, -EINVAL, "%s has %u functions \"%s\": write the address of one instead of "
		    "the name: %s%s", f->path, s->n, s->symbol, list,
		    s->n > FOUND_MAX ? ", ..." : "");
}

static int search_deny(struct elf_search *s, const struct elf_file *f, struct reason *why)
{
	if (s->by_address && !s->chosen)
		return deny(why, -EINVAL, "%s has no function at %s; an address is the one that "
			    "nm(1) prints, or of a stripped file \"readelf --debug-dump=frames\", "
			    "behind pc=", f->path, s->symbol);
	if (s->chosen)
		return deny(why, -EINVAL, "%s: \"%s\" is an IFUNC: when a program begins, the code "
			    "behind the name is chosen for the CPU, and the symbol is the chooser; "
			    "name the chosen function, as debuggers and \"pmc record\" do", f->path,
			    s->symbol);
	if (s->data)
		return deny(why, -EINVAL, "\"%s\" in %s is no function", s->symbol, f->path);
	if (s->imported)
		return deny(why, -EINVAL, "%s has no function \"%s\", it uses the one of a shared "
			    "object: name that file, see ldd(1)", f->path, s->symbol);
	if (*s->other)
		return deny(why, -EINVAL, "%s has no function \"%s\", but %s", f->path, s->symbol,
			    s->other);
	nearest_begin(&s->near, s->symbol);
	s->guessing = true;
	search_file(s, f);
	return deny(why, -EINVAL, "%s has no function \"%s\"%s%s", f->path, s->symbol,
		    nearest_hint(&s->near, ""), s->all ? "" :
		    "; it is stripped of all but the functions that it exports: write the "
		    "address of another one, as 0x1139");
}

/* Only where all instructions have one length is it known where one begins. */
static int search_deny_plus(const struct elf_search *s, const struct elf_file *f, uint64_t plus,
			    struct reason *why)
{
	if (ALIGNMENT == 1)
		return deny(why, -EINVAL, "%s+%" PRIu64 ": instructions have different lengths "
			    "here, and a probe inside of one would destroy it: only the beginning "
			    "of a function can be counted", s->symbol, plus);
	if (plus % ALIGNMENT)
		return deny(why, -EINVAL, "%s+%" PRIu64 ": instructions begin at multiples of %u",
			    s->symbol, plus, ALIGNMENT);
	if (plus >= s->length)
		return deny(why, -EINVAL, "%s+%" PRIu64 ": the function has %" PRIu64 " bytes in "
			    "%s", s->symbol, plus, s->length, f->path);
	return 0;
}

static int search_run(struct elf_search *s, const struct elf_file *f, uint64_t plus,
		      uint64_t *offset, struct reason *why)
{
	const Elf64_Phdr *code;
	int err;

	search_file(s, f);
	if (!s->n && !s->chosen && s->by_address)
		search_frames(s, f);
	if (!s->n || s->chosen)
		return search_deny(s, f, why);
	if (s->n > 1)
		return search_deny_many(s, f, why);
	err = plus ? search_deny_plus(s, f, plus, why) : 0;
	if (err)
		return err;
	code = elf_file_segment_at(f, s->found[0] + plus, PF_X);
	if (!code)
		return deny(why, -EINVAL, "%s+%" PRIu64 " is not in the code of %s", s->symbol,
			    plus, f->path);
	*offset = s->found[0] + plus - code->p_vaddr + code->p_offset;
	return 0;
}

int elf_symbol_find(int fd, const char *path, const char *symbol, uint64_t plus, uint64_t *offset,
		    struct reason *why)
{
	struct elf_search *s = calloc(1, sizeof(*s));
	struct elf_file f = { .fd = -1 };
	int err = s ? elf_file_begin(&f, fd, path, why) : -ENOMEM;

	if (!err) {
		s->symbol = symbol;
		s->len = strcspn(symbol, "@");
		s->by_address = !strncmp(symbol, "0x", 2);
	}
	if (!err && s->by_address && number_parse(symbol, 16, UINT64_MAX, &s->address))
		err = deny(why, -EINVAL, "\"%s\" is no address", symbol);
	err = err ?: search_run(s, &f, plus, offset, why);
	elf_file_end(&f);
	free(s);
	return err;
}

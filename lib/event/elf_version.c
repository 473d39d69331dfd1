/* SPDX-License-Identifier: BSD-2-Clause */
/* See elf_version.h. */
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "elf_version.h"

#define HIDDEN 0x8000u
#define SIZE_MAX_READ (1u << 26)

static const Elf64_Shdr *version_section(const struct elf_file *f, uint32_t type)
{
	for (unsigned int i = 0; i < f->nsections; i++)
		if (f->section[i].sh_type == type)
			return &f->section[i];
	return NULL;
}

static void *version_copy(const struct elf_file *f, const Elf64_Shdr *h, uint64_t *size)
{
	*size = h->sh_size;
	return h->sh_size <= SIZE_MAX_READ ? elf_file_copy(f, h->sh_offset, h->sh_size) : NULL;
}

void elf_version_begin(struct elf_versions *v, const struct elf_file *f, unsigned int symbols)
{
	const Elf64_Shdr *of = version_section(f, SHT_GNU_versym);
	const Elf64_Shdr *defined = version_section(f, SHT_GNU_verdef);

	*v = (struct elf_versions){ .n = 0 };
	if (!of || !defined || of->sh_link != symbols || defined->sh_link >= f->nsections)
		return;
	v->defined = version_copy(f, defined, &v->defined_size);
	v->names = version_copy(f, &f->section[defined->sh_link], &v->names_size);
	if (v->defined && v->names)
		v->of = version_copy(f, of, &v->n);
	v->n /= sizeof(*v->of);
}

void elf_version_end(struct elf_versions *v)
{
	free(v->of);
	free(v->defined);
	free(v->names);
	*v = (struct elf_versions){ .n = 0 };
}

/* The first of a definition's names is its own; others are those that it follows. */
static const char *version_name_at(const struct elf_versions *v, uint64_t at)
{
	Elf64_Verdaux aux;

	if (at > v->defined_size || v->defined_size - at < sizeof(aux))
		return "";
	memcpy(&aux, v->defined + at, sizeof(aux));
	return aux.vda_name < v->names_size ? v->names + aux.vda_name : "";
}

const char *elf_version_name(const struct elf_versions *v, uint64_t symbol, bool *standard)
{
	uint16_t number = v->of && symbol < v->n ? v->of[symbol] : 0;
	Elf64_Verdef def = { .vd_next = 0 };
	uint64_t at = 0;

	*standard = !(number & HIDDEN);
	number &= (uint16_t)~HIDDEN;
	while (number > VER_NDX_GLOBAL && at <= v->defined_size &&
	       v->defined_size - at >= sizeof(def)) {
		memcpy(&def, v->defined + at, sizeof(def));
		if (def.vd_ndx == number)
			return version_name_at(v, at + def.vd_aux);
		if (!def.vd_next)
			break;
		at += def.vd_next;
	}
	return "";
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* See elf_usdt.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_file.h"
#include "elf_usdt.h"
#include "lib/base/nearest.h"

#define NOTES_MAX (1u << 26)		/* bytes of a section of notes */
#define NAMES_MAX (1u << 20)
#define USDT_TYPE 3u
#define USDT_NAME "stapsdt"
#define USDT_BASE ".stapsdt.base"

/* A note: addresses in the file, and names in the copy of the section. */
struct usdt {
	uint64_t place, base, semaphore;
	const char *provider, *name;
};

struct usdt_search {
	const struct elf_file *f;
	const char *path, *provider, *name;
	uint64_t *site, *semaphore;
	unsigned int n, max;
	uint64_t base;			/* of USDT_BASE in the file; 0: it has none */
	unsigned int notes;
	bool outside;			/* a place is not in the code */
	struct nearest near;
};

/* The descriptor of a note: three addresses, then strings that end in it. */
static bool usdt_parse(const char *desc, size_t len, struct usdt *u)
{
	uint64_t word[3];
	size_t provider, name;

	if (len < sizeof(word) + 3)
		return false;
	memcpy(word, desc, sizeof(word));
	desc += sizeof(word);
	len -= sizeof(word);
	provider = strnlen(desc, len);
	if (provider == len)
		return false;
	name = strnlen(desc + provider + 1, len - provider - 1);
	if (name == len - provider - 1)
		return false;
	*u = (struct usdt){
		.place = word[0], .base = word[1], .semaphore = word[2], .provider = desc,
		.name = desc + provider + 1,
	};
	return true;
}

/* After linking, a tool may have moved the file's addresses, but not the notes. */
static void usdt_move(const struct usdt_search *s, struct usdt *u)
{
	uint64_t by = s->base && u->base ? s->base - u->base : 0;

	u->place += by;
	if (u->semaphore)
		u->semaphore += by;
}

static void usdt_add(struct usdt_search *s, uint64_t place, uint64_t semaphore)
{
	for (unsigned int i = 0; i < s->n && i < s->max; i++)
		if (s->site[i] == place)
			return;
	if (s->n < s->max) {
		s->site[s->n] = place;
		s->semaphore[s->n] = semaphore;
	}
	s->n++;
}

static void usdt_take(struct usdt_search *s, struct usdt *u)
{
	const Elf64_Phdr *code, *data = NULL;
	char full[256];

	s->notes++;
	snprintf(full, sizeof(full), "%s:%s", u->provider, u->name);
	nearest_offer(&s->near, full);
	if (strcmp(u->provider, s->provider) || strcmp(u->name, s->name))
		return;
	usdt_move(s, u);
	code = elf_file_segment_at(s->f, u->place, PF_X);
	if (u->semaphore)
		data = elf_file_segment_at(s->f, u->semaphore, PF_W);
	if (!code || (u->semaphore && !data)) {
		s->outside = true;
		return;
	}
	usdt_add(s, u->place - code->p_vaddr + code->p_offset,
		 data ? u->semaphore - data->p_vaddr + data->p_offset : 0);
}

static void usdt_notes(struct usdt_search *s, const char *p, uint64_t size)
{
	Elf64_Nhdr h;

	while (size >= sizeof(h)) {
		uint64_t name, desc;
		struct usdt u;

		memcpy(&h, p, sizeof(h));
		p += sizeof(h);
		size -= sizeof(h);
		name = ((uint64_t)h.n_namesz + 3) / 4 * 4;
		desc = ((uint64_t)h.n_descsz + 3) / 4 * 4;
		if (name > size || desc > size - name)
			return;
		if (h.n_type == USDT_TYPE && h.n_namesz == sizeof(USDT_NAME) &&
		    !memcmp(p, USDT_NAME, sizeof(USDT_NAME)) &&
		    usdt_parse(p + name, h.n_descsz, &u))
			usdt_take(s, &u);
		p += name + desc;
		size -= name + desc;
	}
}

static uint64_t usdt_base(const struct elf_file *f)
{
	const Elf64_Shdr *h = f->names < f->nsections ? &f->section[f->names] : NULL;
	char *names = NULL;
	uint64_t base = 0;

	if (h && h->sh_size <= NAMES_MAX)
		names = elf_file_copy(f, h->sh_offset, h->sh_size);
	for (unsigned int i = 0; names && i < f->nsections && !base; i++)
		if (f->section[i].sh_name < h->sh_size &&
		    !strcmp(names + f->section[i].sh_name, USDT_BASE))
			base = f->section[i].sh_addr;
	free(names);
	return base;
}

static void usdt_sections(struct usdt_search *s)
{
	for (unsigned int i = 0; i < s->f->nsections; i++) {
		const Elf64_Shdr *h = &s->f->section[i];
		char *notes;

		if (h->sh_type != SHT_NOTE || h->sh_size > NOTES_MAX)
			continue;
		notes = elf_file_copy(s->f, h->sh_offset, h->sh_size);
		if (notes)
			usdt_notes(s, notes, h->sh_size);
		free(notes);
	}
}

static int usdt_result(struct usdt_search *s, struct reason *why)
{
	if (s->outside)
		return deny(why, -EINVAL, "%s is damaged: a place of %s:%s is outside of its code "
			    "or data", s->path, s->provider, s->name);
	if (s->n > s->max)
		return deny(why, -EINVAL, "%s has %u places of %s:%s, more than the %u that one "
			    "probe can have", s->path, s->n, s->provider, s->name, s->max);
	if (s->n)
		return (int)s->n;
	if (!s->notes)
		return deny(why, -EINVAL, "%s declares no probes (USDT)", s->path);
	return deny(why, -EINVAL, "%s has no probe \"%s:%s\"%s; \"readelf -n\" lists those that it "
		    "has", s->path, s->provider, s->name, nearest_hint(&s->near, ""));
}

int elf_usdt_find(int fd, const char *path, const char *provider, const char *name,
		  uint64_t *site, uint64_t *semaphore, unsigned int max, struct reason *why)
{
	struct elf_file f;
	struct usdt_search s = {
		.f = &f, .path = path, .provider = provider, .name = name, .site = site,
		.semaphore = semaphore, .max = max,
	};
	char wanted[256];
	int err = elf_file_begin(&f, fd, path, why);

	snprintf(wanted, sizeof(wanted), "%s:%s", provider, name);
	nearest_begin(&s.near, wanted);
	if (!err) {
		s.base = usdt_base(&f);
		usdt_sections(&s);
		err = usdt_result(&s, why);
	}
	elf_file_end(&f);
	return err;
}

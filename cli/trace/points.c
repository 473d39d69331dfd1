/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace points and strings, looked up and cached: see points.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "points.h"

#define POINTS_MAX    (1u << 16)	/* size of the cache; a full one is emptied */
#define STRING_SLOTS  (1u << 12)
#define CORRUPT	      "--- trace entry corrupt ---"
#define SIXTH	      "... and %lx"	/* <sys/ktr.h>: CTR6's second entry */

struct point_string {
	uint64_t address;
	int8_t len;		/* -1: unreadable */
	bool known;
	char text[FORMAT_STRING + 1];
};

void points_open(struct points *p, const struct rings *rings, struct objects *objects)
{
	*p = (struct points){ .rings = rings, .objects = objects };
}

static void point_free(struct point *point)
{
	format_free(&point->format);
	format_free(&point->six);
	free(point);
}

static void points_forget(struct points *p)
{
	while (p->count)
		point_free(p->list[--p->count]);
	index_clear(&p->index);
	p->last = NULL;
}

void points_close(struct points *p)
{
	points_forget(p);
	index_free(&p->index);
	free(p->list);
	free(p->strings);
	*p = (struct points){ 0 };
}

struct point_wanted {
	struct point *const *list;
	uint64_t key;
};

static bool point_is_wanted(const void *arg, uint32_t position)
{
	const struct point_wanted *w = arg;

	return w->list[position]->key == w->key;
}

static uint32_t point_hash(uint64_t key)
{
	return index_fold(index_mix(0, key));
}

static struct point *points_find(const struct points *p, uint64_t key)
{
	const struct point_wanted wanted = { p->list, key };
	uint32_t at = index_find(&p->index, point_hash(key), point_is_wanted, &wanted);

	return at == INDEX_NONE ? NULL : p->list[at];
}

/* Takes the point over.  False: no memory. */
static bool points_add(struct points *p, struct point *point)
{
	if (array_reserve(p->list, p->room, p->count + 1) ||
	    index_add(&p->index, point_hash(point->key), (uint32_t)p->count)) {
		point_free(point);
		return false;
	}
	p->list[p->count++] = point;
	return true;
}

static struct point *point_new(uint64_t key, const char *text, const char *file,
			       const struct ktr_site *site)
{
	size_t len = strlen(text) + 1;
	struct point *point;

	while (strncmp(file, "../", 3) == 0)
		file += 3;
	point = calloc(1, sizeof(*point) + len + strlen(file) + 1);
	if (!point)
		return NULL;
	point->key = key;
	point->line = site->ktr_line;
	point->classes = site->ktr_class;
	point->argtypes = site->ktr_argtypes;
	memcpy(point->text, text, len);
	point->file = strcpy(point->text + len, file);
	if (format_compile(&point->format, point->text, point->argtypes, FORMAT_WORDS) == 0)
		return point;
	free(point);
	return NULL;
}

/* A CTR6 has two formats: one with six parameters, and the one of the sixth. */
static struct point *point_find_six(struct point *point)
{
	if (!point)
		return NULL;
	point->sixth = strcmp(point->text, SIXTH) == 0;
	if (!point->format.excess)
		return point;
	if (format_compile(&point->six, point->text, point->argtypes, FORMAT_MOST) != 0) {
		point_free(point);
		return NULL;
	}
	if (point->six.excess)
		format_free(&point->six);
	return point;
}

static struct point *points_add_state(uint64_t key, int state)
{
	struct point *point = point_new(key, "", "", &(struct ktr_site){ 0 });

	if (point)
		point->state = state;
	return point;
}

static struct point *points_add_kernel(const struct points *p, uint64_t key)
{
	const struct rings *rings = p->rings;

	for (uint32_t i = 0; i < rings->header.formats; i++) {
		const struct ktr_format *f = &rings->formats[i];
		char text[sizeof(f->text) + 1] = "";
		struct ktr_site site = { .ktr_class = f->classes, .ktr_argtypes = f->argtypes };
		struct point *point;

		if (f->magic != KTR_FORMAT_MAGIC || f->id != KTR_DESC_ID(key) ||
		    f->generation != KTR_DESC_GENERATION(key))
			continue;
		memcpy(text, f->text, sizeof(f->text));
		point = point_new(key, text, "", &site);
		if (point && memchr(f->name, '\0', sizeof(f->name)))
			point->name = f->name;
		return point;
	}
	return points_add_state(key, POINT_CORRUPT);
}

static void points_save(const struct points *p, uint64_t key, const struct ktr_site *site,
			const struct point *point)
{
	if (point && p->saver)
		saver_point(p->saver, key, site, point->text, point->file);
}

/*
 * Looks up a program's trace point: in the saved file, as a format that the entry points to, or as
 * a site.
 */
static struct point *points_add_program(const struct points *p, uint64_t key)
{
	const struct saved_point *saved = p->saved ? saved_point(p->saved, key) : NULL;
	char text[FORMAT_TEXT + 1], file[POINT_FILE];
	struct ktr_site site = { 0 };
	struct point *point;
	int err;

	if (saved) {
		point = point_new(key, saved->text, saved->file, &saved->site);
		points_save(p, key, &saved->site, point);
		return point;
	}
	if (!p->objects)
		return points_add_state(key, POINT_UNKNOWN);
	if (key & KTR_DESC_TEXT) {
		file[0] = '\0';
		err = objects_string(p->objects, key & ~KTR_DESC_TEXT, text, sizeof(text));
		err = err >= 0 || err == -ENAMETOOLONG ? 0 : p->objects->memory ? -EFAULT : -ENOENT;
	} else {
		err = objects_site(p->objects, key, &site, text, sizeof(text), file, sizeof(file));
	}
	if (err)
		return points_add_state(key, err == -ENOENT ? POINT_UNKNOWN : POINT_CORRUPT);
	point = point_new(key, text, file, &site);
	points_save(p, key, &site, point);
	return point;
}

const struct point *points_get(struct points *p, uint64_t desc)
{
	bool kernel = rings_kernel(p->rings);
	uint64_t key = kernel ? desc & 0xffffffffu : desc;
	struct point *point;

	if (p->last && p->last->key == key)
		return p->last;
	point = points_find(p, key);
	if (point)
		return p->last = point;
	if (p->count >= POINTS_MAX)
		points_forget(p);
	point = kernel ? points_add_kernel(p, key) : point_find_six(points_add_program(p, key));
	if (!point || !points_add(p, point)) {
		p->failed = true;
		return NULL;
	}
	return p->last = point;
}

static int points_find_string(struct points *p, uint64_t address, char *to)
{
	const char *saved = p->saved ? saved_string(p->saved, address) : NULL;
	int len;

	if (!saved && (!p->objects || !address))
		return -1;
	if (saved)
		len = snprintf(to, FORMAT_STRING + 1, "%s", saved);
	else
		len = objects_string(p->objects, address, to, FORMAT_STRING + 1);
	if (len == -ENAMETOOLONG || len > (int)FORMAT_STRING)
		len = (int)FORMAT_STRING;
	if (len >= 0 && p->saver)
		saver_string(p->saver, address, to);
	return len < 0 ? -1 : len;
}

static int points_fetch_string(void *arg, uint64_t address, char *to)
{
	struct points *p = arg;
	struct point_string *s;
	int len;

	if (!p->strings && !p->no_cache)
		p->strings = calloc(STRING_SLOTS, sizeof(*p->strings));
	if (!p->strings || p->no_cache)
		return points_find_string(p, address, to);
	s = &p->strings[(address * 0x9e3779b97f4a7c15ull) >> 52];
	if (!s->known || s->address != address) {
		len = points_find_string(p, address, s->text);
		s->address = address;
		s->len = (int8_t)len;
		s->known = true;
	}
	if (s->len > 0)
		memcpy(to, s->text, (size_t)s->len);
	return s->len;
}

char *points_text(struct points *p, const struct point *point, const struct item *item, char *to)
{
	const struct format_strings strings = { points_fetch_string, p };
	const struct ktr_entry *e = item->entry;
	bool six = point && point->six.nops && item->joined;
	uint64_t words[FORMAT_MOST];

	if (!point || point->state == POINT_CORRUPT)
		return stpcpy(to, CORRUPT);
	memcpy(words, &e->ktr_parm1, FORMAT_WORDS * sizeof(words[0]));
	words[FORMAT_WORDS] = item->sixth;
	if (point->state == POINT_GOOD)
		return format_line(six ? &point->six : &point->format, words, &strings, to);
	to = format_hex(stpcpy(to, "[0x"), e->ktr_desc);
	*to++ = ']';
	for (unsigned int i = 0; i < FORMAT_WORDS; i++)
		to = format_hex(stpcpy(to, " 0x"), words[i]);
	return to;
}

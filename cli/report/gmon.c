/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * -g: for each event a folder with a gprof file for each image.  A call counts once for a sample
 * that has it in its chain, so that gprof divides time among callers in proportion to their
 * samples.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/array.h"
#include "cli/common/common.h"
#include "frames.h"
#include "gmon.h"
#include "pairs.h"

#define SAME_NAME 1000	/* BASENAME, BASENAME~001 … BASENAME~999 */

struct gmon {
	const struct report *r;
	const char *dir;
	bool wide, gnu;
	struct pairs file_of, hit_of, from_of, arc_of;	/* and one more */
	uint32_t nfroms;
	struct gmon_file *files;
	struct gmon_hit *hits;
	struct gmon_arc *arcs;
	size_t nfiles, file_room, nhits, hit_room, narcs, arc_room;
	char **names;			/* by number of the image */
	size_t nnames;
};

static int gmon_file_get(struct gmon *g, uint32_t event, struct image *image, uint32_t *number)
{
	uint32_t *known = pairs_at(&g->file_of, event, image->number);

	if (!known || array_reserve(g->files, g->file_room, g->nfiles + 1))
		return -ENOMEM;
	if (!*known) {
		g->files[g->nfiles] = (struct gmon_file){
			.image = image, .event = event, .low = UINT64_MAX,
		};
		*known = (uint32_t)++g->nfiles;
	}
	*number = *known - 1;
	return 0;
}

/* Extends the file's range by the sampled function, as far as it is known. */
static void gmon_cover(struct gmon_file *file, uint64_t low, uint64_t size)
{
	uint64_t high = low + (size ? size : 1);

	low -= low % GMON_BUCKET;
	high = high > UINT64_MAX - GMON_BUCKET ? UINT64_MAX - GMON_BUCKET : high;
	high += (GMON_BUCKET - high % GMON_BUCKET) % GMON_BUCKET;
	file->low = low < file->low ? low : file->low;
	file->high = high > file->high ? high : file->high;
}

static int gmon_add_hit(struct gmon *g, uint32_t number, uint64_t address, uint64_t samples)
{
	uint64_t last = UINT64_MAX - 2 * GMON_BUCKET;	/* so that an address behind it exists */
	uint64_t bucket = (address < last ? address : last) / GMON_BUCKET * GMON_BUCKET;
	uint32_t *known = pairs_at(&g->hit_of, number, bucket);

	if (!known || array_reserve(g->hits, g->hit_room, g->nhits + 1))
		return -ENOMEM;
	if (!*known) {
		g->hits[g->nhits] = (struct gmon_hit){ .file = number, .address = bucket };
		*known = (uint32_t)++g->nhits;
		g->files[number].nhits++;
	}
	g->hits[*known - 1].samples += samples;
	g->files[number].samples += samples;
	gmon_cover(&g->files[number], bucket, 0);
	return 0;
}

static int gmon_add_arc(struct gmon *g, const struct gmon_arc *arc)
{
	uint32_t *from = pairs_at(&g->from_of, arc->file, arc->from), *known;

	if (!from || array_reserve(g->arcs, g->arc_room, g->narcs + 1))
		return -ENOMEM;
	if (!*from)
		*from = ++g->nfroms;
	known = pairs_at(&g->arc_of, *from, arc->to);
	if (!known)
		return -ENOMEM;
	if (!*known) {
		g->arcs[g->narcs] = *arc;
		g->arcs[g->narcs].count = 0;
		g->arcs[g->narcs].last = 0;
		*known = (uint32_t)++g->narcs;
		g->files[arc->file].narcs++;
	}
	if (g->arcs[*known - 1].last != arc->last)
		g->arcs[*known - 1].count += arc->count;
	g->arcs[*known - 1].last = arc->last;
	return 0;
}

/* The start and size of the function at a place (size 0: not known). */
static uint64_t gmon_function_start(const struct profile *p, const struct place *place,
				    uint64_t *size)
{
	const struct symbol *symbol = symbols_function(p->symbols, place);

	*size = symbol && symbol->image == place->image ? symbol->size : 0;
	return image_address(p->symbols, place->image, *size ? symbol->start : place->offset);
}

static int gmon_add_tally(struct gmon *g, size_t tally)
{
	const struct profile *p = g->r->profile;
	const struct tally *t = &p->tallies[tally];
	uint32_t event = event_first(p, t->event), stack = t->stack, file, caller;
	const struct place *place = stack == STACK_NONE ? NULL : &p->places[p->stacks[stack].place];
	uint64_t size, start;
	int err = 0;

	if (!place || !place->image)
		return 0;
	err = gmon_file_get(g, event, place->image, &file);
	if (!err)
		err = gmon_add_hit(g, file, image_address(p->symbols, place->image, place->offset),
				   t->samples);
	if (!err) {
		start = gmon_function_start(p, place, &size);
		gmon_cover(&g->files[file], start, size);
	}
	for (; !err && (caller = p->stacks[stack].caller) != STACK_NONE; stack = caller) {
		const struct place *callee = &p->places[p->stacks[stack].place];
		const struct place *from = &p->places[p->stacks[caller].place];
		struct gmon_arc arc = { .count = t->samples, .last = tally + 1 };

		if (!from->image || from->image != callee->image)
			continue;
		arc.from = image_address(p->symbols, from->image, from->offset - from->call);
		arc.to = gmon_function_start(p, callee, &size);
		err = gmon_file_get(g, event, from->image, &arc.file);
		if (!err)
			err = gmon_add_arc(g, &arc);
	}
	return err;
}

static int gmon_hit_order(const void *a, const void *b)
{
	const struct gmon_hit *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->address > y->address) - (x->address < y->address);
}

static int gmon_arc_order(const void *a, const void *b)
{
	const struct gmon_arc *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* Hits and arcs go to their files. */
static void gmon_divide(struct gmon *g)
{
	size_t hit = 0, arc = 0;

	if (g->nhits)
		qsort(g->hits, g->nhits, sizeof(*g->hits), gmon_hit_order);
	if (g->narcs)
		qsort(g->arcs, g->narcs, sizeof(*g->arcs), gmon_arc_order);
	for (size_t i = 0; i < g->nfiles; i++) {
		g->files[i].hits = g->hits + hit;
		g->files[i].arcs = g->arcs + arc;
		hit += g->files[i].nhits;
		arc += g->files[i].narcs;
	}
}

static bool gmon_name_taken(const struct gmon *g, size_t names, const char *name)
{
	for (size_t i = 0; i < names; i++)
		if (g->names[i] && strcmp(g->names[i], name) == 0)
			return true;
	return false;
}

/* A file name for an image that no image before it has. */
static int gmon_name_image(struct gmon *g, size_t number, const struct image *image)
{
	int again = 0, most = NAME_MAX - (int)sizeof("~999.gmon");
	struct buf plain = { 0 }, name = { 0 };

	report_put_plain(&plain, image->name, "/", '?');
	buf_add(&plain, "", 1);
	do {
		name.len = 0;
		buf_printf(&name, "%.*s", most, plain.failed ? "" : plain.data);
		if (again > 0)
			buf_printf(&name, "~%03d", again);
		buf_printf(&name, ".gmon");
	} while (!name.failed && gmon_name_taken(g, number, name.data) && ++again < SAME_NAME);
	g->names[number] = name.data;
	name.failed |= plain.failed;
	buf_free(&plain);
	if (name.failed)
		return fail(EX_OSERR, "ERROR: out of memory");
	if (again == SAME_NAME)
		return fail(EX_CANTCREAT, "ERROR: cannot create a gmon file for \"%s\"",
			    image->path);
	return 0;
}

static int gmon_name_images(struct gmon *g)
{
	const struct symbols *symbols = g->r->profile->symbols;
	int code = 0;

	while (symbols_each(symbols, g->nnames))
		g->nnames++;
	g->names = calloc(g->nnames + 1, sizeof(*g->names));
	if (!g->names)
		return fail(EX_OSERR, "ERROR: out of memory");
	for (size_t i = 0; !code && i < g->nnames; i++)
		code = gmon_name_image(g, i, symbols_each(symbols, i));
	return code;
}

/* An event's folder; a '/' in its name does not lead elsewhere, nor does "..". */
static int gmon_make_folder(struct gmon *g, uint32_t event, char **folder)
{
	const char *name = walk_event(g->r->profile->walk, event)->name;
	struct output made;
	char *last;

	if (asprintf(folder, "%s/%s%s", g->dir, *name == '.' || !*name ? "_" : "", name) < 0) {
		*folder = NULL;
		return fail(EX_OSERR, "ERROR: out of memory");
	}
	last = *folder + strlen(g->dir) + 1;
	while ((last = strchr(last, '/')))
		*last = '_';
	if (output_folder(&made, *folder) < 0)
		return fail(EX_OSERR, "ERROR: Cannot create directory \"%s\": %s", *folder,
			    made.why);
	return 0;
}

static int gmon_write_file(struct gmon *g, const struct gmon_file *file, const char *path)
{
	struct output output;
	int err, finished, code = guard_output(path, GUARD_TEXT);

	if (code)
		return code;
	if (output_create(&output, path, OUTPUT_WHOLE, 0666) < 0)
		return fail(EX_CANTCREAT, "ERROR: cannot create a gmon file for \"%s\": %s",
			    file->image->path, output.why);
	err = g->gnu ? gmon_write_gnu(file, output.fd) :
		       gmon_write_bsd(file, output.fd, g->wide);
	finished = output_finish(&output, !err || err == -EOVERFLOW);
	err = finished ? finished : err;
	if (err == -E2BIG) {
		note("WARNING: the code of \"%s\" lies too far apart for a gmon file of FreeBSD's: "
		     "left out.", file->image->path);
	} else if (err == -EOVERFLOW) {
		note("WARNING: profile \"%s\" overflowed.", path);
	} else if (err) {
		errno = -err;
		return fail_errno(EX_OSERR, "ERROR: cannot write \"%s\"", path);
	}
	return 0;
}

static int gmon_write_files(struct gmon *g)
{
	int code = 0;

	for (size_t i = 0; !code && i < g->nfiles; i++) {
		const struct gmon_file *file = &g->files[i];
		char *folder = NULL, *path = NULL;

		if (file->nhits == 0)
			continue;
		code = gmon_make_folder(g, file->event, &folder);
		if (!code && asprintf(&path, "%s/%s", folder, g->names[file->image->number]) < 0) {
			path = NULL;
			code = fail(EX_OSERR, "ERROR: out of memory");
		}
		if (!code)
			code = gmon_write_file(g, file, path);
		free(folder);
		free(path);
	}
	return code;
}

/* -M: the executable of each file. */
static void gmon_put_map(struct gmon *g, struct buf *map)
{
	buf_printf(map, "MAP:\n");
	for (size_t i = 0; i < g->nnames; i++) {
		bool begun = false;

		for (size_t f = 0; f < g->nfiles; f++) {
			const struct gmon_file *file = &g->files[f];

			if (file->image->number != i || file->nhits == 0)
				continue;
			if (!begun) {
				buf_printf(map, " \"");
				report_put_plain(map, file->image->path, "", '?');
				buf_printf(map, "\" => \"%s\"", g->names[i]);
			}
			begun = true;
			buf_printf(map, " %s/%llu",
				   walk_event(g->r->profile->walk, file->event)->name,
				   (unsigned long long)file->samples);
		}
		if (begun)
			buf_add(map, "\n", 1);
	}
}

static void gmon_free(struct gmon *g)
{
	for (size_t i = 0; g->names && i < g->nnames; i++)
		free(g->names[i]);
	free(g->names);
	free(g->files);
	free(g->hits);
	free(g->arcs);
	pairs_free(&g->file_of);
	pairs_free(&g->hit_of);
	pairs_free(&g->from_of);
	pairs_free(&g->arc_of);
}

int report_gmon(const struct report *r, const char *dir, bool wide, bool gnu, struct buf *map)
{
	struct gmon g = { .r = r, .dir = dir, .wide = wide, .gnu = gnu };
	int code = 0;

	for (size_t i = 0; !code && i < r->profile->ntallies; i++)
		if (r->profile->tallies[i].samples > 0 && gmon_add_tally(&g, i) < 0)
			code = fail(EX_OSERR, "ERROR: out of memory");
	gmon_divide(&g);
	if (!code)
		code = gmon_name_images(&g);
	if (!code && dir)
		code = gmon_write_files(&g);
	if (!code && map)
		gmon_put_map(&g, map);
	gmon_free(&g);
	return code;
}

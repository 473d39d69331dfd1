/* SPDX-License-Identifier: BSD-2-Clause */
/* The samples of a log that lie in the binary, by function. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pmcannotate.h"
#include "cli/common/common.h"

#define LOOSE_GAP  64u	/* largest gap in bytes between hits in code without symbols */
#define LOOSE_TAIL 16u	/* shown behind the last one */
#define SIZE_MAX_GUESS 512u	/* bytes of a function without size, behind its last hit */

static int hits_no_memory(void)
{
	return fail(EXIT_FAILURE, "Impossible to generate an analysis: no memory");
}

/* --- is it this binary? --------------------------------------------------------------------- */

enum match { MATCH_NONE, MATCH_OTHER, MATCH_NAME, MATCH_ID };

static enum match image_match(const struct image *image, const struct binary *b)
{
	bool named = strcmp(image->name, path_name(b->path)) == 0;

	if (image->kernel)
		named |= b->kernel && strcmp(image->path, "[kernel.kallsyms]") == 0;
	if (image->idlen && image->idlen == b->idlen && memcmp(image->id, b->id, b->idlen) == 0)
		return MATCH_ID;
	if (!named)
		return MATCH_NONE;
	return image->idlen ? MATCH_OTHER : MATCH_NAME;
}

static const char *image_id(const uint8_t *id, size_t len, char room[static IMAGE_ID_TEXT])
{
	return len ? buf_hex(id, len, room) : "none";
}

/* Whether the samples of an image belong to the binary. */
struct verdict {
	enum match best;
	const struct image *image;	/* of that */
	uint64_t other;			/* samples of another build */
	const struct image *busiest;	/* of all */
};

static const struct place *hits_place(const struct profile *p, const struct tally *t)
{
	return &p->places[p->stacks[t->stack].place];
}

static int image_judge(const struct profile *p, const struct binary *b, struct verdict *v)
{
	uint64_t *samples, most = 0;
	size_t n = 0;

	while (symbols_each(p->symbols, n))
		n++;
	samples = calloc(n + 1, sizeof(*samples));
	if (!samples)
		return hits_no_memory();
	for (size_t i = 0; i < p->ntallies; i++) {
		const struct image *image = hits_place(p, &p->tallies[i])->image;

		if (image && image->number < n)
			samples[image->number] += p->tallies[i].samples;
	}
	for (size_t i = 0; i < n; i++) {
		const struct image *image = symbols_each(p->symbols, i);
		enum match m = samples[i] ? image_match(image, b) : MATCH_NONE;

		if (m == MATCH_OTHER)
			v->other += samples[i];
		if (m > v->best) {
			v->best = m;
			v->image = image;
		}
		if (samples[i] > most) {
			most = samples[i];
			v->busiest = image;
		}
	}
	free(samples);
	return 0;
}

static int image_refuse(const struct verdict *v, const struct binary *b)
{
	char theirs[IMAGE_ID_TEXT], ours[IMAGE_ID_TEXT];

	if (v->best == MATCH_OTHER)
		return fail(EXIT_FAILURE,
			    "Impossible to generate an analysis: the log is of "
			    "another build of \"%s\" (build id %s) than \"%s\" (%s): give that "
			    "one, or --force",
			    v->image->path, image_id(v->image->id, v->image->idlen, theirs),
			    b->name, image_id(b->id, b->idlen, ours));
	if (v->busiest)
		return fail(EXIT_FAILURE, "Impossible to generate an analysis: no sample lies in "
			    "\"%s\"; most lie in \"%s\"", b->name, v->busiest->path);
	return fail(EXIT_FAILURE, "Impossible to generate an analysis: no sample of the log lies "
		    "in a known file");
}

static int image_accept(const struct profile *p, const struct binary *b, bool force,
			struct verdict *v)
{
	int code = image_judge(p, b, v);

	if (code)
		return code;
	if (v->best == MATCH_NONE || (v->best == MATCH_OTHER && !force))
		return image_refuse(v, b);
	if (v->best == MATCH_OTHER)
		note("WARNING: the log is of another build of \"%s\": what follows may be wrong",
		     v->image->path);
	else if (v->best == MATCH_NAME)
		note("WARNING: the log has no build id of \"%s\": whether \"%s\" is the same is "
		     "not known", v->image->path, b->name);
	else if (v->other)
		note("%llu samples are not shown: they lie in another build of \"%s\"",
		     (unsigned long long)v->other, b->name);
	return 0;
}

/* --- events --------------------------------------------------------------------------------- */

/* The column of each event, shared by PMCs of one event; UINT32_MAX: not selected. */
static uint32_t *hits_columns(struct hits *h, const struct profile *p, const char *event)
{
	uint32_t *columns = calloc(p->nevents + 1, sizeof(*columns));
	const char **names = calloc(p->nevents + 1, sizeof(*names));
	size_t n = 0;

	h->events = names;
	h->totals = calloc(p->nevents + 1, sizeof(*h->totals));
	if (!columns || !names || !h->totals) {
		free(columns);
		return NULL;
	}
	for (uint32_t i = 0; i < p->nevents; i++) {
		const struct walk_event *e = walk_event(p->walk, i);
		size_t k = 0;

		columns[i] = UINT32_MAX;
		if (!e || !p->event_samples[i] || (event && strcasecmp(event, e->name) != 0))
			continue;
		while (k < n && strcmp(names[k], e->name) != 0)
			k++;
		names[k] = e->name;
		n += k == n;
		h->totals[k] += p->event_samples[i];
		columns[i] = (uint32_t)k;
	}
	h->nevents = n;
	return columns;
}

/* --- samples by offset ---------------------------------------------------------------------- */

struct sample {
	uint64_t offset, samples;
	uint32_t column;
};

static int hit_order(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return x->offset == y->offset ? 0 : x->offset < y->offset ? -1 : 1;
}

static size_t hits_pick(const struct profile *p, const struct binary *b, enum match wanted,
			const uint32_t *columns, struct sample *list)
{
	size_t n = 0;

	for (size_t i = 0; i < p->ntallies; i++) {
		const struct tally *t = &p->tallies[i];
		const struct place *place = hits_place(p, t);

		if (t->samples && columns[t->event] != UINT32_MAX && place->image &&
		    image_match(place->image, b) == wanted)
			list[n++] = (struct sample){ place->offset, t->samples, columns[t->event] };
	}
	if (n)
		qsort(list, n, sizeof(*list), hit_order);
	return n;
}

static int hits_merge(struct hits *h, const struct sample *list, size_t n)
{
	h->offsets = calloc(n + 1, sizeof(*h->offsets));
	h->counts = calloc(n + 1, h->nevents * sizeof(*h->counts));
	if (!h->offsets || !h->counts)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (!i || list[i].offset != list[i - 1].offset)
			h->offsets[h->noffsets++] = list[i].offset;
		h->counts[(h->noffsets - 1) * h->nevents + list[i].column] += list[i].samples;
	}
	return 0;
}

/* --- functions ------------------------------------------------------------------------------ */

static const struct symbol *function_symbol(struct symbols *s, const struct hits *h,
					    uint64_t offset)
{
	struct place place = { .image = h->image, .offset = offset };

	return symbols_function(s, &place);
}

static bool function_has_size(const struct hit_function *f)
{
	return f->symbol->name && f->symbol->size && f->start == f->symbol->start;
}

/* Hits come in order: does this one continue the function before it? */
static bool function_continues(const struct hits *h, const struct hit_function *f,
			       const struct symbol *symbol, uint64_t offset)
{
	if (function_has_size(f))
		return f->symbol == symbol && offset < f->end;
	if (f->symbol->name || symbol->name)
		return f->symbol == symbol;
	return offset - h->offsets[f->first + f->n - 1] <= LOOSE_GAP;
}

static void function_begin(struct hit_function *f, const struct symbol *symbol, uint64_t offset,
			   size_t i)
{
	f->symbol = symbol;
	f->first = i;
	f->start = offset;
	/* Code without a symbol begins with its first hit. */
	if (symbol->name && offset >= symbol->start &&
	    (!symbol->size || offset - symbol->start < symbol->size))
		f->start = symbol->start;
	f->end = function_has_size(f) ? symbol->start + symbol->size : offset + LOOSE_TAIL;
}

/* A function without a size ends where another begins. */
static void function_find_end(struct symbols *s, const struct hits *h, struct hit_function *f)
{
	uint64_t last = h->offsets[f->first + f->n - 1];

	if (function_has_size(f))
		return;
	f->end = last + 1;
	while (f->end - last < (f->symbol->name ? SIZE_MAX_GUESS : LOOSE_TAIL) &&
	       (!f->symbol->name || function_symbol(s, h, f->end) == f->symbol))
		f->end++;
}

static int function_count(const struct hits *h, struct hit_function *f)
{
	f->counts = calloc(h->nevents, sizeof(*f->counts));
	if (!f->counts)
		return -ENOMEM;
	for (size_t e = 0; e < h->nevents; e++) {
		for (size_t i = f->first; i < f->first + f->n; i++)
			f->counts[e] += h->counts[i * h->nevents + e];
		if (percent(f->counts[e], h->totals[e]) > f->share)
			f->share = percent(f->counts[e], h->totals[e]);
	}
	return 0;
}

static int function_order(const void *a, const void *b)
{
	const struct hit_function *x = a, *y = b;

	if (x->share != y->share)
		return x->share < y->share ? 1 : -1;
	return x->start == y->start ? 0 : x->start < y->start ? -1 : 1;
}

static int hits_find_functions(struct hits *h, struct symbols *s)
{
	struct hit_function *list = calloc(h->noffsets + 1, sizeof(*list)), *f = NULL;
	size_t n = 0;

	h->functions = list;
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < h->noffsets; i++) {
		const struct symbol *symbol = function_symbol(s, h, h->offsets[i]);

		if (!symbol)
			return -ENOMEM;
		if (!f || !function_continues(h, f, symbol, h->offsets[i])) {
			f = &list[n++];
			function_begin(f, symbol, h->offsets[i], i);
		}
		f->n++;
	}
	h->nfunctions = n;
	for (size_t i = 0; i < n; i++) {
		function_find_end(s, h, &list[i]);
		if (function_count(h, &list[i]) != 0)
			return -ENOMEM;
	}
	if (n)
		qsort(list, n, sizeof(*list), function_order);
	return 0;
}

/* --- all of it ------------------------------------------------------------------------------ */

static int hits_fill(struct hits *h, const struct profile *p, const struct binary *b,
		     enum match wanted, const uint32_t *columns)
{
	struct sample *list = calloc(p->ntallies + 1, sizeof(*list));
	int err = list ? 0 : -ENOMEM;

	if (!err)
		err = hits_merge(h, list, hits_pick(p, b, wanted, columns, list));
	if (!err)
		err = hits_find_functions(h, p->symbols);
	free(list);
	return err ? hits_no_memory() : 0;
}

static int hits_no_event(const struct profile *p, const char *event)
{
	struct buf names = { 0 };
	int code;

	for (uint32_t i = 0; i < p->nevents; i++) {
		const struct walk_event *e = walk_event(p->walk, i);

		if (e && e->first == i && p->event_samples[i])
			buf_printf(&names, "%s%s", names.len ? ", " : "", e->name);
	}
	code = fail(EXIT_FAILURE, "Impossible to generate an analysis: the log has no samples of "
		    "\"%s\", but of: %.*s", event, (int)names.len, names.len ? names.data : "");
	buf_free(&names);
	return code;
}

int hits_find(struct hits *h, const struct profile *p, const struct binary *b, const char *event,
	      bool force)
{
	struct verdict v = { .best = MATCH_NONE };
	uint32_t *columns;
	int code;

	*h = (struct hits){ 0 };
	if (!p->samples)
		return fail(EXIT_FAILURE, "Impossible to generate an analysis: the log has no "
			    "samples");
	code = image_accept(p, b, force, &v);
	if (code)
		return code;
	/* Names and lines are read from the given binary, whatever its recorded path. */
	h->image = v.image->kernel ?
		symbols_image(p->symbols, v.image->path, b->id, b->idlen, SYMBOLS_KERNEL) :
		symbols_image(p->symbols, b->path, b->id, b->idlen, 0);
	columns = hits_columns(h, p, event);
	if (!h->image || !columns)
		code = hits_no_memory();
	else if (!h->nevents)
		code = hits_no_event(p, event);
	else
		code = hits_fill(h, p, b, v.best, columns);
	free(columns);
	return code;
}

void hits_free(struct hits *h)
{
	for (size_t i = 0; i < h->nfunctions; i++)
		free(h->functions[i].counts);
	free(h->functions);
	free(h->offsets);
	free(h->counts);
	free(h->events);
	free(h->totals);
}

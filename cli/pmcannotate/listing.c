/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows of a function: its instructions, their source lines, and their samples. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "pmcannotate.h"
#include "cli/common/common.h"
#include "cli/profile/profile.h"

#define CODE_MAX  (1u << 20)	/* bytes; of longer functions only instructions with hits */
#define LINES_MAX 2000u		/* lines shown together */
#define LEAD_MAX  16u		/* lines without code before one that has some */
#define NO_ROW	  SIZE_MAX

/* An instruction; without a disassembler, or without its bytes, an address that was hit. */
struct step {
	uint64_t offset, size;
	size_t text;		/* in listing.text */
	size_t hit, nhits;	/* in hits.offsets */
	const struct frame *frame;	/* innermost */
	const struct frame *caller;	/* the place of the call, NULL: not inlined */
};

struct maker {
	struct listing *l;
	struct annotate *a;
	const struct hit_function *f;
	struct step *steps;
	size_t nsteps, room;
};

/* --- rows ----------------------------------------------------------------------------------- */

/* Adds a row with counts of 0.  NO_ROW: out of memory, which the listing records. */
static size_t listing_add_row(struct listing *l, enum row_kind kind, size_t text,
			      const struct frame *frame, unsigned int line)
{
	size_t n = l->nevents;

	if (array_reserve(l->rows, l->rows_room, l->nrows + 1) ||
	    array_reserve(l->counts, l->counts_room, (l->nrows + 1) * n)) {
		l->failed = true;
		return NO_ROW;
	}
	memset(l->counts + l->nrows * n, 0, n * sizeof(*l->counts));
	l->rows[l->nrows] = (struct listing_row){ kind, line, text, frame };
	return l->nrows++;
}

static void listing_add_counts(struct maker *m, size_t row, const struct step *step)
{
	size_t n = m->l->nevents;

	if (row == NO_ROW)
		return;
	for (size_t i = step->hit; i < step->hit + step->nhits; i++) {
		for (size_t e = 0; e < n; e++)
			m->l->counts[row * n + e] += m->a->hits.counts[i * n + e];
	}
}

static size_t listing_add_line(struct maker *m, const struct frame *frame, unsigned int line)
{
	struct listing *l = m->l;
	size_t len, text = l->text.len;
	const char *source = source_line(&m->a->sources, frame->file, line, &len);

	if (source)
		buf_add(&l->text, source, len);
	else
		buf_printf(&l->text, "%s:%u", frame->file, line);
	buf_add(&l->text, "", 1);
	return listing_add_row(l, ROW_SOURCE, text, frame, line);
}

/* The function that begins here. */
static void listing_add_place(struct maker *m, const struct step *step)
{
	struct listing *l = m->l;
	size_t text = l->text.len;
	char room[24];

	buf_printf(&l->text, "%s", symbol_text(step->frame->symbol, room));
	if (step->caller && step->caller->file)
		buf_printf(&l->text, ", inlined at %s:%u", step->caller->file, step->caller->line);
	else if (step->caller)
		buf_printf(&l->text, ", inlined");
	buf_add(&l->text, ":", 2);
	listing_add_row(l, ROW_PLACE, text, step->frame, 0);
}

/* --- instructions --------------------------------------------------------------------------- */

void listing_name(void *arg, uint64_t address, struct buf *out)
{
	const struct annotate *a = arg;
	struct place place = { .image = a->hits.image, .offset = address - a->bias };
	const struct symbol *symbol;

	if (image_address(a->symbols, place.image, place.offset) != address)
		return;		/* in another segment */
	symbol = symbols_function(a->symbols, &place);
	if (!symbol || !symbol->name || place.offset < symbol->start)
		return;
	buf_printf(out, " <%s", symbol->name);
	if (place.offset > symbol->start)
		buf_printf(out, "+0x%" PRIx64, place.offset - symbol->start);
	buf_add(out, ">", 1);
}

static struct step *steps_add(struct maker *m)
{
	if (array_reserve(m->steps, m->room, m->nsteps + 1) != 0) {
		m->l->failed = true;
		return NULL;
	}
	m->steps[m->nsteps] = (struct step){ 0 };
	return &m->steps[m->nsteps++];
}

/* Adds the hits up to the end of the step to it. */
static void steps_take_hits(const struct maker *m, struct step *step, size_t *hit)
{
	const struct hit_function *f = m->f;

	step->hit = *hit;
	while (*hit < f->first + f->n && m->a->hits.offsets[*hit] - step->offset < step->size)
		++*hit;
	step->nhits = *hit - step->hit;
}

static void steps_find_frame(const struct maker *m, struct step *step)
{
	struct place place = { .image = m->a->hits.image, .offset = step->offset };
	const struct frame *frames;
	size_t n = 0;

	frames = symbols_frames(m->a->symbols, &place, &n);
	if (!frames || !n) {
		m->l->failed = true;
		return;
	}
	step->frame = frames;
	step->caller = n > 1 ? frames + 1 : NULL;
}

static const uint8_t *function_code(struct maker *m, size_t *len)
{
	struct annotate *a = m->a;
	uint64_t address = image_address(a->symbols, a->hits.image, m->f->start);

	a->bias = address - m->f->start;
	*len = m->f->end - m->f->start;
	return a->disasm && *len <= CODE_MAX ? binary_code(&a->binary, address, len) : NULL;
}

static void steps_make(struct maker *m)
{
	const struct hits *h = &m->a->hits;
	struct buf *text = &m->l->text;
	size_t len, hit = m->f->first;
	const uint8_t *code = function_code(m, &len);
	struct step *step;

	for (size_t at = 0; code && at < len && (step = steps_add(m)); at += step->size) {
		step->offset = m->f->start + at;
		step->text = text->len;
		step->size = disasm_step(m->a->disasm, code + at, len - at,
					 step->offset + m->a->bias, text);
		steps_take_hits(m, step, &hit);
		steps_find_frame(m, step);
	}
	while (hit < m->f->first + m->f->n && (step = steps_add(m))) {
		step->offset = h->offsets[hit];
		step->text = text->len;
		step->size = 1;
		buf_printf(text, "%8" PRIx64 ":", step->offset + m->a->bias);
		buf_add(text, "", 1);
		steps_take_hits(m, step, &hit);
		steps_find_frame(m, step);
	}
}

/* --- the views ------------------------------------------------------------------------------ */

static bool frame_same_line(const struct frame *a, const struct frame *b)
{
	return a->symbol == b->symbol && a->line == b->line && a->file == b->file;
}

/* Adds a line and the lines without code before it.  Returns the row of the line. */
static size_t listing_add_lines(struct maker *m, const struct frame *frame,
				const struct frame *before)
{
	unsigned int line = frame->line;

	if (before && before->symbol == frame->symbol && before->file == frame->file &&
	    before->line < line && line - before->line <= LEAD_MAX)
		line = before->line + 1;
	while (line < frame->line)
		listing_add_line(m, frame, line++);
	return listing_add_line(m, frame, line);
}

static void listing_mixed(struct maker *m)
{
	const struct frame *before = NULL;
	size_t chunk = NO_ROW;

	for (size_t i = 0; i < m->nsteps; i++) {
		const struct step *step = &m->steps[i];
		const struct frame *frame = step->frame;

		if (before ? frame->symbol != before->symbol : frame->symbol->inlined) {
			listing_add_place(m, step);
			chunk = NO_ROW;
		}
		if (frame->file && frame->line && (!before || !frame_same_line(frame, before)))
			chunk = listing_add_lines(m, frame, before);
		if (!before || frame->line || frame->symbol != before->symbol)
			before = frame;
		listing_add_counts(m, chunk, step);
		listing_add_counts(m, listing_add_row(m->l, ROW_CODE, step->text, frame, 0), step);
	}
}

static void listing_assembly(struct maker *m)
{
	for (size_t i = 0; i < m->nsteps; i++) {
		const struct step *step = &m->steps[i];

		if (i ? step->frame->symbol != m->steps[i - 1].frame->symbol :
			step->frame->symbol->inlined)
			listing_add_place(m, step);
		listing_add_counts(m, listing_add_row(m->l, ROW_CODE, step->text, step->frame, 0),
				   step);
	}
}

/* Lines of one function, or one inlined there, that lie together. */
struct group {
	const struct step *step;	/* the first of them */
	unsigned int first, last;
	size_t row;
};

static struct group *groups_find(struct group *groups, size_t n, const struct frame *frame)
{
	for (size_t i = 0; i < n; i++) {
		const struct frame *own = groups[i].step->frame;

		if (own->symbol == frame->symbol && own->file == frame->file &&
		    (int64_t)frame->line - groups[i].first < LINES_MAX &&
		    (int64_t)groups[i].last - frame->line < LINES_MAX)
			return &groups[i];
	}
	return NULL;
}

static size_t groups_make(const struct maker *m, struct group *groups)
{
	size_t n = 0;

	for (size_t i = 0; i < m->nsteps; i++) {
		const struct frame *frame = m->steps[i].frame;
		struct group *group;

		if (!frame->file || !frame->line)
			continue;
		group = groups_find(groups, n, frame);
		if (!group) {
			group = &groups[n++];
			*group = (struct group){ &m->steps[i], frame->line, frame->line, 0 };
		}
		if (frame->line < group->first)
			group->first = frame->line;
		if (frame->line > group->last)
			group->last = frame->line;
	}
	return n;
}

static void listing_add_group(struct maker *m, struct group *group)
{
	if (group->step->frame->symbol != m->f->symbol)
		listing_add_place(m, group->step);
	group->row = m->l->nrows;
	for (unsigned int line = group->first; line <= group->last && !m->l->failed; line++)
		listing_add_line(m, group->step->frame, line);
}

static size_t listing_nowhere(struct maker *m)
{
	static const char text[] = "code whose lines are not known:";
	size_t at = m->l->text.len;

	buf_add(&m->l->text, text, sizeof(text));
	return listing_add_row(m->l, ROW_PLACE, at, NULL, 0);
}

static void listing_lines(struct maker *m)
{
	struct group *groups = calloc(m->nsteps + 1, sizeof(*groups));
	size_t n, unknown = NO_ROW;

	if (!groups) {
		m->l->failed = true;
		return;
	}
	n = groups_make(m, groups);
	for (int inlined = 0; inlined < 2; inlined++) {
		for (size_t i = 0; i < n; i++) {
			if ((groups[i].step->frame->symbol != m->f->symbol) == inlined)
				listing_add_group(m, &groups[i]);
		}
	}
	for (size_t i = 0; i < m->nsteps && !m->l->failed; i++) {
		const struct step *step = &m->steps[i];
		const struct frame *frame = step->frame;
		const struct group *group = NULL;

		if (frame->file && frame->line)
			group = groups_find(groups, n, frame);
		if (!group && step->nhits && unknown == NO_ROW)
			unknown = listing_nowhere(m);
		listing_add_counts(m, group ? group->row + frame->line - group->first : unknown,
				   step);
	}
	free(groups);
}

int listing_make(struct listing *l, struct annotate *a, const struct hit_function *f)
{
	static void (*const views[])(struct maker *m) = {
		[VIEW_MIXED] = listing_mixed,
		[VIEW_ASSEMBLY] = listing_assembly,
		[VIEW_LINES] = listing_lines,
	};
	struct maker m = { .l = l, .a = a, .f = f };

	*l = (struct listing){ .nevents = a->hits.nevents };
	steps_make(&m);
	if (!l->failed)
		views[a->view](&m);
	free(m.steps);
	if (l->failed || l->text.failed)
		return fail(EXIT_FAILURE, "Impossible to generate an analysis: no memory");
	return 0;
}

void listing_free(struct listing *l)
{
	free(l->rows);
	free(l->counts);
	buf_free(&l->text);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --pprof: profile.proto, gzip'd.  Its messages are varints and bytes with lengths, so they are
 * written here by hand, with literal field numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "frames.h"
#include "pairs.h"

/* Fields of the outermost message. */
enum { SAMPLE_TYPE = 1, SAMPLE, MAPPING, LOCATION, FUNCTION, STRING_TABLE, TIME_NANOS = 9,
       DURATION_NANOS, PERIOD_TYPE, PERIOD, COMMENT, DEFAULT_SAMPLE_TYPE };

struct pprof {
	const struct report *r;
	struct buf *out;		/* not yet compressed */
	struct buf message, part;	/* of the current message, and of one in it */
	struct pairs strings, mappings, functions, locations;
	uint32_t nstrings, nmappings, nfunctions, nlocations;
	uint32_t *columns;		/* by number of an event: its place among the values */
	size_t nvalues;
	uint64_t *values;
};

static void pb_varint(struct buf *out, uint64_t value)
{
	char bytes[10];
	size_t n = 0;

	for (; value > 0x7f; value >>= 7)
		bytes[n++] = (char)(value | 0x80);
	bytes[n++] = (char)value;
	buf_add(out, bytes, n);
}

static void pb_number(struct buf *out, uint32_t field, uint64_t value)
{
	pb_varint(out, field << 3);
	pb_varint(out, value);
}

static void pb_bytes(struct buf *out, uint32_t field, const struct buf *bytes)
{
	pb_varint(out, field << 3 | 2);
	pb_varint(out, bytes->len);
	if (bytes->len > 0)
		buf_add(out, bytes->data, bytes->len);
	out->failed |= bytes->failed;
}

/* Ends a message: appends it to the one around it. */
static void pb_message(struct buf *out, uint32_t field, struct buf *message)
{
	pb_bytes(out, field, message);
	message->len = 0;
}

/* A string's number; 0 is the empty one. */
static uint32_t pprof_string_add(struct pprof *pp, const char *text)
{
	struct buf plain = { 0 };

	if (!*text)
		return 0;
	report_put_plain(&plain, text, "", '?');
	pb_bytes(pp->out, STRING_TABLE, &plain);
	buf_free(&plain);
	return pp->nstrings++;
}

/* … of a string that does not move: it is written once. */
static uint32_t pprof_string(struct pprof *pp, const char *text)
{
	uint32_t *known = pairs_at(&pp->strings, (uintptr_t)text, 0);

	if (!known) {
		pp->out->failed = true;
		return 0;
	}
	if (!*known)
		*known = pprof_string_add(pp, text);
	return *known;
}

static bool image_has_names(const struct image *image)
{
	return image->state == IMAGE_OPEN || image->kernel;
}

/* Addresses are the ones in the file's own symbol table, so its mapping is written as one at 0. */
static uint32_t pprof_mapping(struct pprof *pp, const struct image *image)
{
	uint32_t *known, path, id_string = 0;
	char room[IMAGE_ID_TEXT];

	if (!image)
		return 0;
	known = pairs_at(&pp->mappings, (uintptr_t)image, 0);
	if (!known || *known)
		return known ? *known : 0;
	*known = ++pp->nmappings;
	path = pprof_string(pp, image->path);
	if (report_image_id(image, room))
		id_string = pprof_string_add(pp, room);
	pb_number(&pp->part, 1, pp->nmappings);
	pb_number(&pp->part, 3, UINT64_MAX);
	pb_number(&pp->part, 5, path);
	pb_number(&pp->part, 6, id_string);
	pb_number(&pp->part, 7, image_has_names(image));
	pb_number(&pp->part, 8, image->debug);
	pb_number(&pp->part, 9, image->debug);
	pb_number(&pp->part, 10, image->debug);
	pb_message(pp->out, MAPPING, &pp->part);
	return pp->nmappings;
}

static uint32_t pprof_function(struct pprof *pp, const struct frame *frame)
{
	uint32_t *known = pairs_at(&pp->functions, (uintptr_t)frame->symbol, 0), name;
	struct buf label = { 0 };

	if (!known || *known)
		return known ? *known : 0;
	*known = ++pp->nfunctions;
	frame_label(&label, frame->symbol);
	buf_add(&label, "", 1);
	pp->out->failed |= label.failed;
	name = label.failed ? 0 : pprof_string_add(pp, label.data);
	buf_free(&label);
	pb_number(&pp->part, 1, pp->nfunctions);
	pb_number(&pp->part, 2, name);
	pb_number(&pp->part, 3, name);
	if (frame->file)
		pb_number(&pp->part, 4, pprof_string(pp, frame->file));
	pb_message(pp->out, FUNCTION, &pp->part);
	return pp->nfunctions;
}

/* A place with its lines: inlined functions first, as in symbols_frames(). */
static uint32_t pprof_location(struct pprof *pp, uint32_t number)
{
	struct profile *p = pp->r->profile;
	const struct place *place = &p->places[number];
	uint32_t *known = pairs_at(&pp->locations, number, 0), id, in;
	const struct frame *frames;
	struct buf line = { 0 }, lines = { 0 };
	size_t n = 0;

	if (!known || *known)
		return known ? *known : 0;
	*known = id = ++pp->nlocations;
	frames = symbols_frames(p->symbols, place, &n);
	if (!frames) {
		pp->out->failed = true;
		return 0;
	}
	in = pprof_mapping(pp, place->image);
	for (size_t i = 0; i < n; i++) {
		pb_number(&line, 1, pprof_function(pp, &frames[i]));
		pb_number(&line, 2, frames[i].line);
		pb_message(&lines, 4, &line);
	}
	pb_number(&pp->part, 1, id);
	if (in)
		pb_number(&pp->part, 2, in);
	pb_number(&pp->part, 3,
		  place->image ? image_address(p->symbols, place->image, place->offset) :
		  place->cut   ? 0 :
				 place->offset);
	if (lines.len > 0)
		buf_add(&pp->part, lines.data, lines.len);
	pp->part.failed |= lines.failed | line.failed;
	pb_message(pp->out, LOCATION, &pp->part);
	buf_free(&lines);
	buf_free(&line);
	return id;
}

static void pprof_label(struct pprof *pp, const char *key, const char *text, uint64_t number)
{
	pb_number(&pp->part, 1, pprof_string(pp, key));
	if (text)
		pb_number(&pp->part, 2, pprof_string(pp, text));
	else
		pb_number(&pp->part, 3, number);
	pb_message(&pp->message, 3, &pp->part);
}

static void pprof_sample(struct pprof *pp, const struct tally *t)
{
	const struct profile *p = pp->r->profile;
	const struct walk_event *event = walk_event(p->walk, t->event);
	const struct walk_process *process = walk_process(p->walk, t->process);
	const struct walk_thread *thread = walk_thread(p->walk, t->tid);
	struct buf ids = { 0 };

	for (uint32_t stack = t->stack; stack != STACK_NONE; stack = p->stacks[stack].caller)
		pb_varint(&ids, pprof_location(pp, p->stacks[stack].place));
	pb_message(&pp->message, 1, &ids);
	memset(pp->values, 0, pp->nvalues * sizeof(*pp->values));
	pp->values[0] = t->taken;
	if (pp->columns[t->event])
		pp->values[pp->columns[t->event]] = event_weight(event, t->samples);
	for (size_t i = 0; i < pp->nvalues; i++)
		pb_varint(&ids, pp->values[i]);
	pb_message(&pp->message, 2, &ids);
	buf_free(&ids);
	pprof_label(pp, "event", event->name, 0);
	pprof_label(pp, "process", process->name, 0);
	pprof_label(pp, "pid", NULL, (uint64_t)process->pid);
	if (thread && thread->name)
		pprof_label(pp, "thread", thread->name, 0);
	if (t->tid)
		pprof_label(pp, "tid", NULL, (uint64_t)t->tid);
	pb_message(pp->out, SAMPLE, &pp->message);
}

static void pprof_type(struct pprof *pp, uint32_t field, const char *type, const char *unit)
{
	pb_number(&pp->part, 1, pprof_string(pp, type));
	pb_number(&pp->part, 2, pprof_string(pp, unit));
	pb_message(pp->out, field, &pp->part);
}

static void pprof_event_type(struct pprof *pp, uint32_t field, const struct walk_event *event)
{
	pprof_type(pp, field, event->name, event_is_clock(event) ? "nanoseconds" : "count");
}

/* The number of samples, and their weight for each event with a period in the log. */
static void pprof_types(struct pprof *pp)
{
	const struct profile *p = pp->r->profile;
	uint32_t first;

	pprof_type(pp, SAMPLE_TYPE, "samples", "count");
	pp->nvalues = 1;
	for (uint32_t event = 0; event < p->nevents; event++) {
		if (walk_event(p->walk, event)->rate == 0 || p->event_samples[event] == 0)
			continue;
		first = event_first(p, event);
		if (!pp->columns[first]) {
			pprof_event_type(pp, SAMPLE_TYPE, walk_event(p->walk, first));
			pp->columns[first] = (uint32_t)pp->nvalues++;
		}
		pp->columns[event] = pp->columns[first];
		if (event_count(p) == 1 && first == event &&
		    !walk_event(p->walk, event)->steered) {
			pprof_event_type(pp, PERIOD_TYPE, walk_event(p->walk, event));
			pb_number(pp->out, PERIOD, event_weight(walk_event(p->walk, event), 1));
		}
	}
	pb_number(pp->out, DEFAULT_SAMPLE_TYPE, pprof_string(pp, "samples"));
}

static void pprof_comment(struct pprof *pp, struct buf *text)
{
	buf_add(text, "", 1);
	pp->out->failed |= text->failed;
	if (!text->failed)
		pb_number(pp->out, COMMENT, pprof_string_add(pp, text->data));
	buf_free(text);
}

static void pprof_ends(struct pprof *pp, const struct chains *c)
{
	struct buf whole = { 0 }, pointers = { 0 }, cut = { 0 };

	if (c->ended) {
		buf_printf(&whole, "whole call chains: ");
		chains_put_share(&whole, c);
		pprof_comment(pp, &whole);
	}
	if (c->pointers) {
		buf_printf(&pointers, "call chains by frame pointers in part: %llu of %llu samples",
			   (unsigned long long)c->pointers, (unsigned long long)c->samples);
		pprof_comment(pp, &pointers);
	}
	if (c->cut) {
		buf_printf(&cut, "cut call chains: %llu of %llu samples",
			   (unsigned long long)c->cut, (unsigned long long)c->samples);
		pprof_comment(pp, &cut);
	}
}

static void pprof_times(struct pprof *pp)
{
	const struct walk_stats *stats = walk_stats(pp->r->profile->walk);

	pb_number(pp->out, TIME_NANOS,
		  (uint64_t)stats->began.tv_sec * 1000000000u + (uint64_t)stats->began.tv_nsec);
	pb_number(pp->out, DURATION_NANOS, (uint64_t)(stats->seconds * 1e9));
	pb_number(pp->out, COMMENT, pprof_string(pp, pp->r->log));
	if (report_is_partial(pp->r))
		pb_number(pp->out, COMMENT,
			  pprof_string(pp, "partial: samples are missing, or the log's end"));
	pprof_ends(pp, &stats->ends);
}

/* Readers take the first mapping for the program: the executable with the hottest stack. */
static void pprof_program(struct pprof *pp)
{
	const struct profile *p = pp->r->profile;
	const struct walk_process *most = NULL;
	const struct image *image;
	uint64_t samples = 0;

	for (size_t i = 0; i < p->ntallies; i++) {
		if (p->tallies[i].samples <= samples)
			continue;
		samples = p->tallies[i].samples;
		most = walk_process(p->walk, p->tallies[i].process);
	}
	for (size_t i = 0; most && most->path && (image = symbols_each(p->symbols, i)); i++)
		if (strcmp(image->path, most->path) == 0)
			pprof_mapping(pp, image);
}

static void gzip_into(struct buf *out, const struct buf *text)
{
	char chunk[16384];
	z_stream z = { .next_in = (Bytef *)text->data };
	size_t left = text->len;
	int state = Z_OK;

	/* 16 more than the window's bits asks for gzip's header. */
	if (text->failed || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
					 Z_DEFAULT_STRATEGY) != Z_OK) {
		out->failed = true;
		return;
	}
	while (state == Z_OK) {
		if (z.avail_in == 0) {
			z.avail_in = left > UINT32_MAX ? UINT32_MAX : (uInt)left;
			left -= z.avail_in;
		}
		z.next_out = (Bytef *)chunk;
		z.avail_out = sizeof(chunk);
		state = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
		buf_add(out, chunk, sizeof(chunk) - z.avail_out);
	}
	out->failed |= state != Z_STREAM_END;
	deflateEnd(&z);
}

void report_pprof(const struct report *r, struct buf *out)
{
	const struct profile *p = r->profile;
	struct buf plain = { 0 };
	struct pprof pp = { .r = r, .out = &plain, .nstrings = 1 };

	pp.columns = calloc(p->nevents + 1, sizeof(*pp.columns));
	pp.values = calloc(p->nevents + 1, sizeof(*pp.values));
	if (!pp.columns || !pp.values) {
		out->failed = true;
		goto out;
	}
	pb_bytes(&plain, STRING_TABLE, &pp.part);	/* the empty one */
	pprof_types(&pp);
	pprof_times(&pp);
	pprof_program(&pp);
	for (size_t i = 0; i < p->ntallies; i++)
		if (p->tallies[i].samples > 0)
			pprof_sample(&pp, &p->tallies[i]);
	plain.failed |= pp.message.failed | pp.part.failed;
	gzip_into(out, &plain);
out:
	free(pp.columns);
	free(pp.values);
	buf_free(&plain);
	buf_free(&pp.message);
	buf_free(&pp.part);
	pairs_free(&pp.strings);
	pairs_free(&pp.mappings);
	pairs_free(&pp.functions);
	pairs_free(&pp.locations);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --speedscope: JSON for https://www.speedscope.app, one profile for each event, and one for each
 * of its threads where there are several.
 */
#include <stdlib.h>

#include "frames.h"
#include "pairs.h"

struct speedscope {
	const struct report *r;
	struct json json;
	struct chain chain;
	struct pairs numbers;		/* symbol → frame, process → frame; and one more */
	uint32_t nframes;
	struct tally *tallies;		/* by event, process and thread; with weights for samples */
	size_t n;
	bool *plain;			/* by number of an event: one of its PMCs has no period */
};

static int tally_order(const void *a, const void *b)
{
	const struct tally *s = a, *t = b;

	if (s->event != t->event)
		return s->event < t->event ? -1 : 1;
	if (s->process != t->process)
		return s->process < t->process ? -1 : 1;
	if (s->tid != t->tid)
		return s->tid < t->tid ? -1 : 1;
	return (s->stack > t->stack) - (s->stack < t->stack);
}

/* Merges the events of one name, weighed if the log has the periods of all of them. */
static int speedscope_sort(struct speedscope *s)
{
	const struct profile *p = s->r->profile;

	s->tallies = calloc(p->ntallies + 1, sizeof(*s->tallies));
	s->plain = calloc(p->nevents + 1, sizeof(*s->plain));
	if (!s->tallies || !s->plain)
		return -1;
	for (uint32_t event = 0; event < p->nevents; event++)
		if (p->event_samples[event] && !walk_event(p->walk, event)->rate)
			s->plain[event_first(p, event)] = true;
	for (size_t i = 0; i < p->ntallies; i++) {
		struct tally t = p->tallies[i];

		if (t.samples == 0)
			continue;
		t.event = event_first(p, t.event);
		if (!s->plain[t.event])
			t.samples = event_weight(walk_event(p->walk, p->tallies[i].event),
						 t.samples);
		s->tallies[s->n++] = t;
	}
	qsort(s->tallies, s->n, sizeof(*s->tallies), tally_order);
	return 0;
}

static void speedscope_label(struct json *json, const char *key, const struct symbol *symbol)
{
	struct buf label = { 0 };

	frame_label(&label, symbol);
	buf_add(&label, "", 1);
	json->out->failed |= label.failed;
	if (!label.failed)
		json_string(json, key, label.data);
	buf_free(&label);
}

/* Is this the first time?  Then it gets the next number. */
static bool speedscope_is_new(struct speedscope *s, const void *what)
{
	uint32_t *known = pairs_at(&s->numbers, (uintptr_t)what, 0);

	if (!known)
		s->json.out->failed = true;
	if (!known || *known)
		return false;
	*known = ++s->nframes;
	return true;
}

static void speedscope_frame(struct speedscope *s, const struct frame *frame)
{
	const struct image *image = frame->symbol->image;

	if (!speedscope_is_new(s, frame->symbol))
		return;
	json_open(&s->json, NULL, '{');
	speedscope_label(&s->json, "name", frame->symbol);
	if (frame->file || image)
		json_string(&s->json, "file", frame->file ? frame->file : image->path);
	json_close(&s->json, '}');
}

static void speedscope_frames(struct speedscope *s)
{
	const struct profile *p = s->r->profile;

	json_open(&s->json, "frames", '[');
	for (size_t i = 0; i < s->n && !s->json.out->failed; i++) {
		const struct walk_process *process = walk_process(p->walk, s->tallies[i].process);

		if (speedscope_is_new(s, process)) {
			json_open(&s->json, NULL, '{');
			json_string(&s->json, "name", process->name);
			json_close(&s->json, '}');
		}
		s->json.out->failed |= chain_fill(&s->chain, p, s->tallies[i].stack) < 0;
		for (size_t k = 0; k < s->chain.n; k++)
			speedscope_frame(s, s->chain.links[k].frame);
	}
	json_close(&s->json, ']');
}

static void speedscope_number(struct speedscope *s, const void *what)
{
	const uint32_t *known = pairs_at(&s->numbers, (uintptr_t)what, 0);

	if (!known)
		s->json.out->failed = true;
	else
		json_number(&s->json, NULL, *known - 1);
}

static void speedscope_stack(struct speedscope *s, const struct tally *t)
{
	const struct profile *p = s->r->profile;

	s->json.out->failed |= chain_fill(&s->chain, p, t->stack) < 0;
	json_open(&s->json, NULL, '[');
	speedscope_number(s, walk_process(p->walk, t->process));
	for (size_t i = 0; i < s->chain.n; i++)
		speedscope_number(s, s->chain.links[i].frame->symbol);
	json_close(&s->json, ']');
}

static void speedscope_profile(struct speedscope *s, size_t from, size_t to, const char *name)
{
	const struct profile *p = s->r->profile;
	uint32_t event = s->tallies[from].event;
	bool clock = !s->plain[event] && event_is_clock(walk_event(p->walk, event));
	uint64_t sum = 0;

	for (size_t i = from; i < to; i++)
		if (__builtin_add_overflow(sum, s->tallies[i].samples, &sum))
			sum = UINT64_MAX;
	json_open(&s->json, NULL, '{');
	json_string(&s->json, "type", "sampled");
	json_string(&s->json, "name", name);
	json_string(&s->json, "unit", clock ? "nanoseconds" : "none");
	json_number(&s->json, "startValue", 0);
	json_number(&s->json, "endValue", sum);
	json_open(&s->json, "samples", '[');
	for (size_t i = from; i < to && !s->json.out->failed; i++)
		speedscope_stack(s, &s->tallies[i]);
	json_close(&s->json, ']');
	json_open(&s->json, "weights", '[');
	for (size_t i = from; i < to; i++)
		json_number(&s->json, NULL, s->tallies[i].samples);
	json_close(&s->json, ']');
	json_close(&s->json, '}');
}

static void speedscope_thread(struct speedscope *s, size_t from, size_t to)
{
	const struct walk *w = s->r->profile->walk;
	const struct tally *t = &s->tallies[from];
	const struct walk_thread *thread = walk_thread(w, t->tid);
	const struct walk_process *process = walk_process(w, t->process);
	struct buf name = { 0 };

	buf_printf(&name, "%s, %s", walk_event(w, t->event)->name, process->name);
	if (thread && thread->name)
		buf_printf(&name, "/%s", thread->name);
	buf_printf(&name, " (%d)", t->tid ? t->tid : process->pid);
	s->json.out->failed |= name.failed;
	if (!name.failed)
		speedscope_profile(s, from, to, name.data);
	buf_free(&name);
}

static bool tally_same_thread(const struct tally *s, const struct tally *t)
{
	return s->event == t->event && s->process == t->process && s->tid == t->tid;
}

/* An event's tallies begin at `from`; returns where they end. */
static size_t speedscope_event(struct speedscope *s, size_t from)
{
	const struct tally *t = &s->tallies[from];
	size_t to = from, begin = from;

	while (to < s->n && s->tallies[to].event == t->event)
		to++;
	speedscope_profile(s, from, to, walk_event(s->r->profile->walk, t->event)->name);
	if (tally_same_thread(t, &s->tallies[to - 1]))
		return to;
	for (size_t i = from + 1; i <= to; i++) {
		if (i < to && tally_same_thread(&s->tallies[i], &s->tallies[begin]))
			continue;
		speedscope_thread(s, begin, i);
		begin = i;
	}
	return to;
}

void report_speedscope(const struct report *r, struct buf *out)
{
	struct speedscope s = { .r = r, .json = { .out = out } };

	if (speedscope_sort(&s) < 0) {
		out->failed = true;
		free(s.tallies);
		free(s.plain);
		return;
	}
	json_open(&s.json, NULL, '{');
	json_string(&s.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_string(&s.json, "exporter", "pmcbpf");
	json_string(&s.json, "name", r->log);
	json_bool(&s.json, "partial", report_is_partial(r));
	report_put_ends(&s.json, &walk_stats(r->profile->walk)->ends);
	json_open(&s.json, "shared", '{');
	speedscope_frames(&s);
	json_close(&s.json, '}');
	json_open(&s.json, "profiles", '[');
	for (size_t i = 0; i < s.n;)
		i = speedscope_event(&s, i);
	json_close(&s.json, ']');
	json_close(&s.json, '}');
	buf_add(out, "\n", 1);
	free(s.tallies);
	free(s.plain);
	chain_free(&s.chain);
	pairs_free(&s.numbers);
}

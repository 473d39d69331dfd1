/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * --json and --csv: the whole profile for programs to read, and the functions of each event and
 * process as rows.  pmcreport(5) describes both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/array.h"
#include "frames.h"
#include "pairs.h"
#include "print.h"

#define VERSION 1	/* of the JSON's form; new members do not change it */

struct json_table {
	const struct report *r;
	struct buf *out;
	struct json json;
	struct pairs numbers;			/* frame and symbol → number, and one more */
	const void **frames, **functions;
	size_t nframes, nfunctions, frame_room, function_room;
	uint64_t *wanted;			/* of each process: samples of the current event */
};

/* Functions of an event in a process, most samples first. */
typedef void put_functions(struct json_table *t, uint32_t event, uint32_t process,
			   const struct tree_function *list, size_t n);

static int table_each_process(struct json_table *t, uint32_t event, put_functions *put)
{
	const struct profile *p = t->r->profile;
	size_t n = 0;

	while (walk_process(p->walk, (uint32_t)n))
		n++;
	t->wanted = calloc(n + 1, sizeof(*t->wanted));
	if (!t->wanted)
		return -1;
	for (size_t i = 0; i < p->ntallies; i++)
		if (event_first(p, p->tallies[i].event) == event)
			t->wanted[p->tallies[i].process] += p->tallies[i].samples;
	for (size_t process = 0; process < n; process++) {
		const struct tree_select select = {
			.event = event, .process = (uint32_t)process, .inlines = true,
		};
		struct tree_function *list = NULL;
		size_t count = 0;

		if (t->wanted[process] == 0)
			continue;
		if (tree_functions(p, &select, &list, &count) < 0)
			t->out->failed = true;
		else
			put(t, event, (uint32_t)process, list, count);
		free(list);
	}
	free(t->wanted);
	return 0;
}

static void table_each_event(struct json_table *t, put_functions *put)
{
	const struct profile *p = t->r->profile;

	for (uint32_t event = 0; event < p->nevents && !t->out->failed; event++)
		if (event_total(p, event) > 0 && table_each_process(t, event, put) < 0)
			t->out->failed = true;
}

/* --- CSV (RFC 4180, lines end with LF) -------------------------------------------------------- */

static void csv_put_text(struct buf *out, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		buf_printf(out, "%s", text);
		return;
	}
	buf_add(out, "\"", 1);
	for (; *text; text++)
		buf_add(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
	buf_add(out, "\"", 1);
}

static void csv_put_functions(struct json_table *t, uint32_t event, uint32_t process,
			      const struct tree_function *list, size_t n)
{
	const struct profile *p = t->r->profile;
	const struct walk_process *proc = walk_process(p->walk, process);
	uint64_t all = event_total(p, event);
	char room[24];

	for (size_t i = 0; i < n; i++) {
		const struct symbol *symbol = list[i].symbol;

		csv_put_text(t->out, walk_event(p->walk, event)->name);
		buf_add(t->out, ",", 1);
		csv_put_text(t->out, proc->name);
		buf_printf(t->out, ",%d,", proc->pid);
		csv_put_text(t->out, symbol_text(symbol, room));
		buf_add(t->out, ",", 1);
		csv_put_text(t->out, symbol->image ? symbol->image->path : "");
		buf_printf(t->out, ",%llu,%llu,%.2f,%.2f\n", (unsigned long long)list[i].self,
			   (unsigned long long)list[i].total, percent(list[i].self, all),
			   percent(list[i].total, all));
	}
}

void report_csv(const struct report *r, struct buf *out)
{
	struct json_table t = { .r = r, .out = out };

	buf_printf(out, "event,process,pid,function,object,self,total,"
			"self_percent,total_percent\n");
	table_each_event(&t, csv_put_functions);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* The position of a pointer in an array, which gets it if it is new. */
static uint32_t table_number(struct json_table *t, const void *what, const void ***array, size_t *n,
			     size_t *room)
{
	uint32_t *known = pairs_at(&t->numbers, (uintptr_t)what, 0);

	if (known && *known)
		return *known - 1;
	if (!known || array_reserve(*array, *room, *n + 1) != 0) {
		t->out->failed = true;
		return 0;
	}
	(*array)[*n] = what;
	*known = (uint32_t)++*n;
	return *known - 1;
}

static uint32_t table_function(struct json_table *t, const struct symbol *symbol)
{
	return table_number(t, symbol, &t->functions, &t->nfunctions, &t->function_room);
}

static uint32_t table_frame(struct json_table *t, const struct frame *frame)
{
	return table_number(t, frame, &t->frames, &t->nframes, &t->frame_room);
}

static void json_put_hex(struct json *json, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)value);
	json_string(json, key, text);
}

static void json_put_statistics(struct json *json, const struct walk_stats *s)
{
	json_open(json, "statistics", '{');
	json_number(json, "samples", s->samples);
	json_number(json, "passed", s->passed);
	json_number(json, "drops", s->drops);
	json_number(json, "lost", s->lost);
	json_number(json, "chains", s->chains);
	report_put_ends(json, &s->ends);
	json_number(json, "execs", s->execs);
	json_number(json, "exec_elf", s->exec_elf);
	json_number(json, "exec_unknown", s->exec_unknown);
	json_number(json, "exec_errors", s->exec_errors);
	json_number(json, "unknown_event", s->unknown_event);
	json_number(json, "unknown_object", s->unknown_object);
	json_number(json, "unknown_function", s->unknown_function);
	json_number(json, "dubious_frames", s->dubious_frames);
	json_close(json, '}');
}

static void json_put_head(struct json_table *t)
{
	const struct walk_stats *stats = walk_stats(t->r->profile->walk);
	struct json *json = &t->json;

	json_string(json, "format", "pmcreport");
	json_number(json, "version", VERSION);
	json_string(json, "log", t->r->log);
	json_bool(json, "partial", report_is_partial(t->r));
	json_bool(json, "cut", stats->cut);
	json_string(json, "cpu", stats->cpu);
	json_seconds(json, "began",
		     (double)stats->began.tv_sec + (double)stats->began.tv_nsec / 1e9);
	json_seconds(json, "seconds", stats->seconds);
	json_put_statistics(json, stats);
}

static void json_put_process(struct json_table *t)
{
	const struct profile *p = t->r->profile;
	struct json *json = &t->json;
	const struct walk_process *process;

	json_open(json, "events", '[');
	for (uint32_t i = 0; i < p->nevents; i++) {
		const struct walk_event *event = walk_event(p->walk, i);

		json_open(json, NULL, '{');
		json_string(json, "name", event->name);
		json_string(json, "unique", event->unique);
		json_put_hex(json, "pmc", event->id);
		json_number(json, "period", event->rate);
		if (event->steered)
			json_bool(json, "steered", true);
		json_number(json, "samples", p->event_samples[i]);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "processes", '[');
	for (uint32_t i = 0; (process = walk_process(p->walk, i)); i++) {
		json_open(json, NULL, '{');
		json_number(json, "pid", (uint64_t)process->pid);
		json_string(json, "name", process->name);
		json_string(json, "path", process->path);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_put_stack(struct json_table *t, const struct tally *tally)
{
	const struct profile *p = t->r->profile;
	const struct walk_thread *thread = walk_thread(p->walk, tally->tid);
	struct json *json = &t->json;

	json_open(json, NULL, '{');
	json_number(json, "event", tally->event);
	json_number(json, "process", tally->process);
	json_number(json, "tid", (uint64_t)tally->tid);
	json_string(json, "thread", thread ? thread->name : NULL);
	json_number(json, "samples", tally->samples);
	json_open(json, "frames", '[');
	for (uint32_t s = tally->stack; s != STACK_NONE; s = p->stacks[s].caller) {
		size_t n = 0;
		const struct frame *frames =
			symbols_frames(p->symbols, &p->places[p->stacks[s].place], &n);

		t->out->failed |= !frames;
		for (size_t i = 0; i < n; i++)
			json_number(json, NULL, table_frame(t, &frames[i]));
	}
	json_close(json, ']');
	json_close(json, '}');
}

static void json_put_stacks(struct json_table *t)
{
	const struct profile *p = t->r->profile;

	json_open(&t->json, "stacks", '[');
	for (size_t i = 0; i < p->ntallies && !t->out->failed; i++)
		if (p->tallies[i].samples > 0)
			json_put_stack(t, &p->tallies[i]);
	json_close(&t->json, ']');
}

static void json_put_functions(struct json_table *t, uint32_t event, uint32_t process,
			       const struct tree_function *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_open(&t->json, NULL, '{');
		json_number(&t->json, "event", event);
		json_number(&t->json, "process", process);
		json_number(&t->json, "function", table_function(t, list[i].symbol));
		json_number(&t->json, "self", list[i].self);
		json_number(&t->json, "total", list[i].total);
		json_close(&t->json, '}');
	}
}

/* The tables that numbers of stacks and totals refer to. */
static void json_put_code(struct json_table *t)
{
	struct json *json = &t->json;

	json_open(json, "frames", '[');
	for (size_t i = 0; i < t->nframes; i++) {
		const struct frame *frame = t->frames[i];

		json_open(json, NULL, '{');
		json_number(json, "function", table_function(t, frame->symbol));
		json_string(json, "file", frame->file);
		json_number(json, "line", frame->line);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_open(json, "functions", '[');
	for (size_t i = 0; i < t->nfunctions; i++) {
		const struct symbol *symbol = t->functions[i];
		const struct image *image = symbol->image;

		json_open(json, NULL, '{');
		json_string(json, "name", symbol->name);
		if (image)
			json_number(json, "image", image->number);
		else
			json_null(json, "image");
		if (symbol->inlined || symbol_is_cut(symbol))
			json_null(json, "offset");
		else
			json_put_hex(json, "offset", symbol->start);
		json_bool(json, "inlined", symbol->inlined);
		if (symbol_is_cut(symbol))
			json_string(json, "cut", chain_end_cut_key((uint32_t)symbol->start));
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_put_images(struct json_table *t)
{
	struct json *json = &t->json;
	const struct image *image;
	char room[IMAGE_ID_TEXT];

	json_open(json, "images", '[');
	for (size_t i = 0; (image = symbols_each(t->r->profile->symbols, i)); i++) {
		json_open(json, NULL, '{');
		json_string(json, "path", image->path);
		json_string(json, "file", image->file);
		json_string(json, "state", report_image_state(image->state));
		json_string(json, "why", image->why);
		json_string(json, "build_id", report_image_id(image, room));
		json_bool(json, "kernel", image->kernel);
		json_bool(json, "lines", image->debug);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void report_json(const struct report *r, struct buf *out)
{
	struct json_table t = { .r = r, .out = out, .json = { .out = out } };

	out->failed = out->failed || report_count(r) != 0;
	json_open(&t.json, NULL, '{');
	json_put_head(&t);
	json_put_process(&t);
	json_put_stacks(&t);
	json_open(&t.json, "totals", '[');
	table_each_event(&t, json_put_functions);
	json_close(&t.json, ']');
	json_put_code(&t);
	json_put_images(&t);
	json_close(&t.json, '}');
	buf_add(out, "\n", 1);
	free(t.frames);
	free(t.functions);
	pairs_free(&t.numbers);
}

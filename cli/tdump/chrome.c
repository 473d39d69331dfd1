/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Trace events for Perfetto and Chrome's viewer: a track for each CPU with the threads it ran, one
 * for each thread with its system calls and all else that happened in it, in microseconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/ktr_class.h>

#include "lib/base/json.h"
#include "cli/common/common.h"
#include "tdump.h"

#define CPUS_GROUP    0		/* the viewer's "processes" */
#define THREADS_GROUP 1
#define THREADS	      65536u	/* threads with a state */
#define NAME_SIZE     80u

struct chrome {
	struct json json;
	uint64_t last;
	struct {
		uint64_t since;
		char name[NAME_SIZE];	/* "": the thread it runs is unknown */
	} cpus[KTR_REGION_CPUS];
	/* By thread: already seen, and the depth of its calls. */
	struct {
		uint32_t tid;
		bool named, in_call;
	} threads[THREADS];
};

/* Nanoseconds as microseconds with three decimals, which a double of this size holds exactly. */
static void chrome_microseconds(struct json *json, const char *key, uint64_t ns)
{
	json_number(json, key, ns / 1000);
	buf_printf(json->out, ".%03u", (unsigned int)(ns % 1000));
}

static void chrome_event_begin(struct chrome *c, const char *phase, uint64_t time, int group,
			       uint32_t track)
{
	buf_add(c->json.out, c->json.comma ? ",\n" : "\n", c->json.comma ? 2 : 1);
	c->json.comma = false;
	json_open(&c->json, NULL, '{');
	json_string(&c->json, "ph", phase);
	chrome_microseconds(&c->json, "ts", time);
	json_number(&c->json, "pid", (uint64_t)group);
	json_number(&c->json, "tid", track);
}

static void chrome_event_end(struct chrome *c)
{
	json_close(&c->json, '}');
}

static void chrome_name_track(struct chrome *c, const char *what, int group, uint32_t track,
			      const char *name)
{
	chrome_event_begin(c, "M", 0, group, track);
	json_string(&c->json, "name", what);
	json_open(&c->json, "args", '{');
	json_string(&c->json, "name", name);
	json_close(&c->json, '}');
	chrome_event_end(c);
}

int chrome_begin(struct tdump *t)
{
	char name[32];

	t->chrome = calloc(1, sizeof(*t->chrome));
	if (!t->chrome)
		return fail(EX_OSERR, "ERROR: out of memory");
	t->chrome->json.out = &t->text;
	buf_printf(&t->text, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	chrome_name_track(t->chrome, "process_name", CPUS_GROUP, 0, "CPUs");
	chrome_name_track(t->chrome, "process_name", THREADS_GROUP, 0, "threads");
	for (uint32_t cpu = 0; cpu < t->rings[0]->header.ncpu; cpu++) {
		snprintf(name, sizeof(name), "CPU %u", cpu);
		chrome_name_track(t->chrome, "thread_name", CPUS_GROUP, cpu, name);
	}
	return out_text(&t->out, &t->text);
}

/* The value of a KTRGRAPH line's key in id:"…"; false: there is none. */
static bool chrome_graph_value(const char *text, const char *key, char *to, size_t size)
{
	const char *at = strstr(text, key), *end;

	if (!at)
		return false;
	at += strlen(key);
	end = strchr(at, '"');
	if (!end)
		return false;
	snprintf(to, size, "%.*s", (int)(end - at), at);
	return true;
}

static void chrome_end_slice(struct chrome *c, uint32_t cpu, uint64_t time)
{
	if (c->cpus[cpu].name[0] && time >= c->cpus[cpu].since) {
		chrome_event_begin(c, "X", c->cpus[cpu].since, CPUS_GROUP, cpu);
		chrome_microseconds(&c->json, "dur", time - c->cpus[cpu].since);
		json_string(&c->json, "name", c->cpus[cpu].name);
		chrome_event_end(c);
	}
	c->cpus[cpu].name[0] = '\0';
}

/* The thread that a CPU runs, from an entry of the scheduler; false: another kind of entry. */
static bool chrome_scheduling(struct chrome *c, const struct item *item, const char *text)
{
	char id[NAME_SIZE], state[32];
	uint32_t cpu = item->cpu;

	if (strncmp(text, "KTRGRAPH group:\"thread\"", 23) != 0 ||
	    !chrome_graph_value(text, "id:\"", id, sizeof(id)) ||
	    !chrome_graph_value(text, "state:\"", state, sizeof(state)))
		return false;
	if (strcmp(state, "running") == 0) {
		chrome_end_slice(c, cpu, item->time);
		snprintf(c->cpus[cpu].name, NAME_SIZE, "%s", id);
		c->cpus[cpu].since = item->time;
		return true;
	}
	if (strcmp(c->cpus[cpu].name, id) == 0)
		chrome_end_slice(c, cpu, item->time);
	/* A wakeup happens to the thread, so it is shown on the thread's track. */
	return false;
}

/* The slot of a thread's state; if there are too many, another thread's is replaced. */
static size_t chrome_thread_slot(const struct chrome *c, uint32_t tid)
{
	size_t i = tid * 0x9e3779b1u >> 16;

	for (unsigned int n = 0; n < 16; n++, i = (i + 1) % THREADS)
		if (c->threads[i].tid == tid || c->threads[i].tid == 0)
			break;
	return i;
}

static void chrome_name_thread(struct chrome *c, const struct item *item, size_t slot)
{
	char name[32];

	if (c->threads[slot].named && c->threads[slot].tid == item->entry->ktr_tid)
		return;
	c->threads[slot].tid = item->entry->ktr_tid;
	c->threads[slot].named = true;
	c->threads[slot].in_call = false;
	snprintf(name, sizeof(name), "thread %u", item->entry->ktr_tid);
	chrome_name_track(c, "thread_name", THREADS_GROUP, item->entry->ktr_tid, name);
}

static void chrome_event(struct chrome *c, const struct tdump_line *line, const char *phase,
			 const char *text)
{
	const struct item *item = line->item;
	bool thread = item->entry->ktr_tid != 0;

	chrome_event_begin(c, phase, item->time, thread ? THREADS_GROUP : CPUS_GROUP,
			   thread ? item->entry->ktr_tid : item->cpu);
	if (*phase == 'i')
		json_string(&c->json, "s", "t");
	json_string(&c->json, "name", text);
	json_open(&c->json, "args", '{');
	json_number(&c->json, "cpu", item->cpu);
	if (line->point && line->point->file[0]) {
		json_string(&c->json, "file", line->point->file);
		json_number(&c->json, "line", line->point->line);
	}
	json_close(&c->json, '}');
	chrome_event_end(c);
}

static void chrome_thread_event(struct chrome *c, const struct tdump_line *line, const char *text)
{
	bool call = line->point->name && (line->point->classes & KTR_SYSC);
	const struct item *item = line->item;
	size_t slot = chrome_thread_slot(c, item->entry->ktr_tid);

	if (item->entry->ktr_tid)
		chrome_name_thread(c, item, slot);
	if (call && strcmp(line->point->name, "sys_enter") == 0) {
		chrome_event(c, line, "B", text);
		c->threads[slot].in_call = true;
	} else if (call && strcmp(line->point->name, "sys_exit") == 0) {
		/* The beginning of the call was overwritten. */
		chrome_event(c, line, c->threads[slot].in_call ? "E" : "i", text);
		c->threads[slot].in_call = false;
	} else {
		chrome_event(c, line, "i", text);
	}
}

int chrome_line(struct tdump *t, const struct tdump_line *line)
{
	struct chrome *c = t->chrome;
	char text[FORMAT_ROOM + 1];

	if (!line->point)
		return 0;
	*points_text(line->points, line->point, line->item, text) = '\0';
	c->last = line->item->time;
	if (!rings_kernel(line->item->rings) || !chrome_scheduling(c, line->item, text))
		chrome_thread_event(c, line, text);
	return out_text(&t->out, &t->text);
}

int chrome_end(struct tdump *t)
{
	for (uint32_t cpu = 0; cpu < KTR_REGION_CPUS; cpu++)
		chrome_end_slice(t->chrome, cpu, t->chrome->last);
	buf_printf(&t->text, "\n]}\n");
	return out_text(&t->out, &t->text);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries as JSON objects, one on each line. */
#include "lib/base/ktrmask.h"
#include "lib/base/json.h"
#include "tdump.h"

static void json_point(struct json *json, const struct point *point)
{
	char classes[KTRMASK_TEXT];

	if (point->state != POINT_GOOD)
		return;
	ktrmask_text(point->classes, classes, sizeof(classes));
	json_string(json, "class", classes);
	if (point->name)
		json_string(json, "event", point->name);
	if (point->file[0]) {
		json_string(json, "file", point->file);
		json_number(json, "line", point->line);
	}
	json_string(json, "format", point->text);
}

int json_line(struct tdump *t, const struct tdump_line *line)
{
	const struct item *item = line->item;
	const uint64_t *words = &item->entry->ktr_parm1;
	char text[FORMAT_ROOM + 1];
	struct json json = { .out = &t->text };

	*points_text(line->points, line->point, item, text) = '\0';
	json_open(&json, NULL, '{');
	json_number(&json, "cpu", item->cpu);
	json_number(&json, "index", item->index);
	json_number(&json, "time", item->time);
	json_number(&json, "delta", line->delta);
	json_number(&json, "tid", item->entry->ktr_tid);
	json_bool(&json, "kernel", rings_kernel(item->rings));
	json_bool(&json, "corrupt", !line->point);
	if (line->point)
		json_point(&json, line->point);
	json_string(&json, "text", text);
	json_open(&json, "words", '[');
	for (unsigned int i = 0; i < FORMAT_WORDS; i++)
		json_number(&json, NULL, words[i]);
	if (item->joined)
		json_number(&json, NULL, item->sixth);
	json_close(&json, ']');
	json_close(&json, '}');
	buf_add(&t->text, "\n", 1);
	return out_text(&t->out, &t->text);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows as a table, CSV and JSON: see table.h. */
#include <stdlib.h>
#include <string.h>

#include "cli/common/common.h"
#include "table.h"

#define BITS_PER_DIGIT 3.32193

static bool column_is_system(const struct column *column)
{
	return PMC_IS_SYSTEM_MODE(column->mode);
}

char *column_name(const char *spec)
{
	return strndup(spec, strcspn(spec, ", \t"));
}

void column_free(struct column *column)
{
	free(column->name);
	free(column->specs);
}

/* The total of one PMC, or its growth since the last row. */
static pmc_value_t column_own(const struct column *column)
{
	return column->cumulative ? column->value : column->value - column->printed;
}

/* A part of a sum is in that; samples are in the log. */
static bool column_is_hidden(const struct column *column)
{
	return column->part || PMC_IS_SAMPLING_MODE(column->mode);
}

/* The value that a row shows. */
static pmc_value_t column_shown(const struct column *columns, size_t count, size_t i)
{
	pmc_value_t sum = columns[i].kinds ? 0 : column_own(&columns[i]);

	for (size_t kind = 1; kind <= columns[i].kinds; kind++)
		sum += column_own(&columns[i + kind]);
	for (size_t part = i + 1; *columns[i].unit && part < count; part++)
		if (columns[part].part == i + 1)
			sum += column_own(&columns[part]);
	return sum;
}

static void column_put(struct buf *out, const struct column *columns, size_t count, size_t i,
		       int width)
{
	pmc_value_t value = column_shown(columns, count, i);

	if (*columns[i].scaled)
		buf_printf(out, "%*.6f", width, (double)value * columns[i].scale);
	else
		buf_printf(out, "%*llu", width, (unsigned long long)value);
}

/* Bytes before the name: "p/", or "s/", at least two digits or the unit, and "/". */
static unsigned int column_prefix(const struct column *column)
{
	unsigned int len = 5;

	if (!column_is_system(column))
		return 2;
	if (*column->unit)
		return (unsigned int)strlen("s//") + (unsigned int)strlen(column->unit);
	for (int rest = column->cpu / 100; rest; rest /= 10)
		len++;
	return len;
}

void column_measure(struct column *column, unsigned int bits)
{
	unsigned int digits = (unsigned int)(bits / BITS_PER_DIGIT) + 1;
	unsigned int head = column_prefix(column) + (unsigned int)strlen(column->name);

	if (*column->scaled)
		head += (unsigned int)strlen(column->scaled) + 2;

	column->field = digits > head ? digits : head;
	column->skip = column->field - head;
}

static void column_put_head(struct buf *out, const struct column *column)
{
	if (*column->unit)
		buf_printf(out, "s/%s/%s", column->unit, column->name);
	else if (column_is_system(column))
		buf_printf(out, "s/%02d/%s", column->cpu, column->name);
	else
		buf_printf(out, "p/%s", column->name);
	if (*column->scaled)
		buf_printf(out, "[%s]", column->scaled);
}

/* --- the table ------------------------------------------------------------------------------ */

#define PID_WIDTH 7

static void rows_put_header(struct buf *out, const struct row_label *label,
			    const struct column *columns, size_t count)
{
	buf_add(out, "# ", 2);
	if (label && label->pid)
		buf_printf(out, "%*s %*s ", PID_WIDTH, "PID", PID_WIDTH, "TID");
	for (size_t i = 0; i < count; i++) {
		if (column_is_hidden(&columns[i]))
			continue;
		buf_printf(out, "%*s", (int)columns[i].skip, "");
		column_put_head(out, &columns[i]);
		buf_add(out, " ", 1);
	}
	if (label)
		buf_printf(out, label->pid ? "NAME" : "CGROUP");
}

/* A name may have any bytes, and the text may go to a terminal. */
static void rows_put_name(struct buf *out, const char *name)
{
	for (; *name; name++)
		buf_add(out, (unsigned char)*name < ' ' || *name == 0x7f ? "?" : name, 1);
}

/* A newline is written with the next row: a terminal has no empty line below the latest one. */
static void rows_put_table(struct buf *out, struct count_table *table, double seconds,
			   const struct column *columns, size_t count)
{
	const struct row_label *label = table->label;
	int indent = 2;		/* room for the header's "# " */

	(void)seconds;
	if (!table->begun || table->rows >= table->page) {
		if (table->begun)
			buf_add(out, "\n", 1);
		rows_put_header(out, table->label, columns, count);
		table->begun = true;
		table->rows = 0;
	}
	table->rows++;
	buf_add(out, "\n", 1);
	if (label && label->pid) {
		buf_printf(out, "%*d %*d ", PID_WIDTH + indent, (int)label->pid, PID_WIDTH,
			   (int)label->tid);
		indent = 0;
	}
	for (size_t i = 0; i < count; i++) {
		if (column_is_hidden(&columns[i]))
			continue;
		column_put(out, columns, count, i, (int)columns[i].field + indent);
		buf_add(out, " ", 1);
		indent = 0;
	}
	if (label)
		rows_put_name(out, label->name);
}

static void rows_end_table(struct buf *out, const struct count_table *table)
{
	if (table->begun)
		buf_add(out, "\n", 1);
}

/* --- CSV (RFC 4180, lines end with LF) -------------------------------------------------------- */

static void text_put_csv(struct buf *out, const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && !strchr("\"\n\r,", text[i]))
		i++;
	if (i == len) {
		buf_add(out, text, len);
		return;
	}
	buf_add(out, "\"", 1);
	for (i = 0; i < len; i++)
		buf_add(out, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
	buf_add(out, "\"", 1);
}

static void column_put_csv(struct buf *out, const struct column *column)
{
	struct buf head = { 0 };

	column_put_head(&head, column);
	if (head.failed)
		out->failed = true;
	else
		text_put_csv(out, head.data, head.len);
	buf_free(&head);
}

static void rows_put_csv(struct buf *out, struct count_table *table, double seconds,
			 const struct column *columns, size_t count)
{
	const struct row_label *label = table->label;

	if (!table->begun) {
		buf_printf(out, "%s", !label ? "time" : label->pid ? "pid,tid,name" :
								     "time,cgroup");
		for (size_t i = 0; i < count; i++) {
			if (column_is_hidden(&columns[i]))
				continue;
			buf_add(out, ",", 1);
			column_put_csv(out, &columns[i]);
		}
		buf_add(out, "\n", 1);
		table->begun = true;
	}
	if (label && label->pid)
		buf_printf(out, "%d,%d", (int)label->pid, (int)label->tid);
	else
		buf_printf(out, "%.6f", seconds);
	if (label) {
		buf_add(out, ",", 1);
		text_put_csv(out, label->name, strlen(label->name));
	}
	for (size_t i = 0; i < count; i++)
		if (!column_is_hidden(&columns[i])) {
			buf_add(out, ",", 1);
			column_put(out, columns, count, i, 0);
		}
	buf_add(out, "\n", 1);
}

static void rows_end_none(struct buf *out, const struct count_table *table)
{
	(void)out;
	(void)table;
}

/* --- JSON, one object a line ------------------------------------------------------------------ */

/* The value stays the exact number of events. */
static void column_put_scale(struct json *json, const struct column *column)
{
	char scale[32];

	snprintf(scale, sizeof(scale), "%.15g", column->scale);
	json_string(json, "scale", scale);
	json_string(json, "scaled_unit", column->scaled);
}

static void rows_put_json(struct buf *out, struct count_table *table, double seconds,
			  const struct column *columns, size_t count)
{
	const struct row_label *label = table->label;
	struct json json = { .out = out };

	table->begun = true;
	json_open(&json, NULL, '{');
	if (label && label->pid) {
		json_number(&json, "pid", (uint64_t)label->pid);
		json_number(&json, "tid", (uint64_t)label->tid);
	} else {
		json_seconds(&json, "time", seconds);
	}
	if (label)
		json_string(&json, label->pid ? "name" : "cgroup", label->name);
	json_open(&json, "counters", '[');
	for (size_t i = 0; i < count; i++) {
		const struct column *column = &columns[i];

		if (column_is_hidden(column))
			continue;
		json_open(&json, NULL, '{');
		json_string(&json, "name", column->name);
		json_string(&json, "spec", column->spec);
		json_string(&json, "scope", column_is_system(column) ? "system" : "process");
		if (column_is_system(column) && !*column->unit)
			json_number(&json, "cpu", (uint64_t)column->cpu);
		else
			json_null(&json, "cpu");
		if (*column->unit)
			json_string(&json, "unit", column->unit);
		json_bool(&json, "cumulative", column->cumulative);
		json_number(&json, "value", column_shown(columns, count, i));
		if (*column->scaled)
			column_put_scale(&json, column);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
	buf_add(out, "\n", 1);
}

const struct count_format format_table = { .row = rows_put_table, .end = rows_end_table };
const struct count_format format_csv = { .row = rows_put_csv, .end = rows_end_none };
const struct count_format format_json = { .row = rows_put_json, .end = rows_end_none };

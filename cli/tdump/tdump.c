/* SPDX-License-Identifier: BSD-2-Clause */
/* tdump(8): decodes the trace rings of programs and of the kernel. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/common.h"
#include "tdump.h"

#define FOLLOW_MS 100

int tdump_form_begin(struct tdump *t)
{
	switch (t->opt.form) {
	case FORM_JSON:
		return 0;
	case FORM_CHROME:
		return chrome_begin(t);
	default:
		return text_begin(t);
	}
}

int tdump_form_line(struct tdump *t, const struct tdump_line *line)
{
	char *from = t->out.data + t->out.len;

	switch (t->opt.form) {
	case FORM_JSON:
		return json_line(t, line);
	case FORM_CHROME:
		return chrome_line(t, line);
	default:
		t->out.len += (size_t)(text_line(t, line, from) - from);
		return out_room(&t->out);
	}
}

int tdump_form_end(struct tdump *t)
{
	return t->opt.form == FORM_CHROME ? chrome_end(t) : 0;
}

static int tdump_no_memory(void)
{
	return fail(EX_OSERR, "ERROR: out of memory");
}

/*
 * CTR6 writes two entries that make one line: the one that is read first looks for the other beside
 * it.  False: this is the other one, and the line is complete already.
 */
static bool entry_join(struct item *item, struct points *points, bool sixth, bool newest)
{
	struct cursor *c = item->cursor;
	const struct point *point;
	struct ktr_entry other;

	if (c->joined == item->number + 1) {
		item->joined = !sixth;
		item->sixth = c->sixth;
		return !sixth;
	}
	if (sixth != newest || !cursor_beside(item, sixth ? -1 : 1, &other) ||
	    other.ktr_tid != item->entry->ktr_tid)
		return true;
	point = points_get(points, other.ktr_desc);
	if (!point || !(sixth ? point->six.nops != 0 : point->sixth))
		return true;
	c->sixth = sixth ? item->entry->ktr_parm1 : other.ktr_parm1;
	c->joined = sixth ? item->number : item->number + 2;
	item->joined = !sixth;
	item->sixth = c->sixth;
	return !sixth;
}

const struct point *tdump_point(const struct tdump *t, struct item *item, struct points *points,
				bool *own)
{
	const struct point *point = item->corrupt ? NULL :
		points_get(points, item->entry->ktr_desc);

	*own = true;
	if (!point || !(point->sixth || point->six.nops))
		return point;
	*own = entry_join(item, points, point->sixth, t->merge.order != MERGE_OLDEST);
	return points_get(points, item->entry->ktr_desc);
}

/* The trace point of the entry; NULL if it is corrupt or not to be shown (`*wanted` is false). */
static const struct point *entry_look_up(struct tdump *t, struct item *item, struct points *points,
					 bool *wanted)
{
	const struct point *point = NULL;

	*wanted = !t->opt.has_tid || item->entry->ktr_tid == t->opt.tid;
	if (*wanted)
		point = tdump_point(t, item, points, wanted);
	/* Entries of unknown class are shown. */
	if (point && t->opt.has_classes && point->classes)
		*wanted = *wanted && (point->classes & t->opt.classes);
	return point && point->state == POINT_CORRUPT ? NULL : point;
}

static int entry_print(struct tdump *t, const struct item *item, struct points *points,
		       const struct point *point, uint64_t delta)
{
	const struct tdump_line line = { item, point, points, delta };

	if (points->failed)
		return tdump_no_memory();
	if (t->opt.ktrdump && point && point->format.excess && !item->joined)
		return fail(1, "too many parameters");
	return tdump_form_line(t, &line);
}

static struct points *entry_points(const struct tdump *t, const struct item *item)
{
	return t->points[t->nrings > 1 && item->rings == t->rings[1]];
}

/* Newest first: the line above has the later time of the difference. */
static int tdump_print_newest(struct tdump *t)
{
	struct item *item;
	const struct rings *rings = NULL;
	uint64_t newer = 0;
	uint32_t cpu = 0;
	bool first = true, wanted;
	int code = 0;

	while (!code && (item = merge_next(&t->merge))) {
		struct points *points = entry_points(t, item);
		const struct point *point = entry_look_up(t, item, points, &wanted);

		if (!wanted)
			continue;
		first = first || (t->opt.apart && (item->cpu != cpu || item->rings != rings));
		code = entry_print(t, item, points, point,
				   first || item->corrupt ? 0 : newer - item->time);
		cpu = item->cpu;
		rings = item->rings;
		if (!item->corrupt) {
			newer = item->time;
			first = false;
		}
	}
	return code;
}

/* Oldest first: an entry waits for the next one; with --follow it shows the time since the last. */
static int tdump_print_oldest(struct tdump *t, uint64_t *last)
{
	struct item *item;
	struct ktr_entry entry;
	struct item held = { 0 };
	bool wanted;
	int code = 0;

	while (!code && (item = merge_next(&t->merge))) {
		const struct point *point = entry_look_up(t, item, entry_points(t, item), &wanted);

		if (!wanted)
			continue;
		if (t->opt.follow) {
			code = entry_print(t, item, entry_points(t, item), point,
					   *last && !item->corrupt ? item->time - *last : 0);
			*last = item->corrupt ? *last : item->time;
			continue;
		}
		if (held.entry) {
			point = held.corrupt ?
					NULL :
					entry_look_up(t, &held, entry_points(t, &held), &wanted);
			code = entry_print(t, &held, entry_points(t, &held), point,
					   item->corrupt ? 0 : item->time - held.time);
		}
		held = *item;
		entry = *item->entry;
		held.entry = &entry;
	}
	if (!code && held.entry)
		code = entry_print(t, &held, entry_points(t, &held),
				   held.corrupt ?
					   NULL :
					   entry_look_up(t, &held, entry_points(t, &held), &wanted),
				   0);
	return code;
}

static int tdump_read_failed(const struct tdump *t, int err)
{
	if (err == -ESRCH)
		return fail(EX_UNAVAILABLE, "ERROR: %s has gone while it was read",
			    t->rings[0]->name);
	if (err == -EFAULT)
		return fail(EX_DATAERR, "ERROR: %s: some of its rings are not there",
			    t->rings[0]->name);
	return fail(EX_IOERR, "ERROR: %s: cannot be read: %s", t->rings[0]->name, strerror(-err));
}

static void tdump_note_lost(const struct tdump *t, uint64_t *reported)
{
	uint64_t lost = merge_lost(&t->merge);

	if (lost != *reported)
		note("%llu entries were overwritten before they were read",
		     (unsigned long long)(lost - *reported));
	*reported = lost;
}

static volatile sig_atomic_t stopped;

static void follow_stop(int signo)
{
	stopped = 1;
}

static int tdump_follow(struct tdump *t)
{
	struct sigaction action = { .sa_handler = follow_stop };
	uint64_t last = 0, reported = 0;
	int code = 0, err = 0;

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	for (size_t i = 0; i < t->merge.ncursors; i++)
		t->merge.cursors[i].patient = true;
	while (!code && !err && !stopped) {
		code = tdump_print_oldest(t, &last);
		tdump_note_lost(t, &reported);
		code = code ? code : out_flush(&t->out);
		err = merge_error(&t->merge);
		if (code || err)
			break;
		poll(NULL, 0, FOLLOW_MS);
		err = merge_again(&t->merge);
	}
	return code || !err ? code : tdump_read_failed(t, err);
}

/* How far the newest entry is ahead of now: clocks of CPUs may differ. */
static uint64_t entry_ahead_of_now(const struct tdump *t)
{
	struct rings *rings = t->rings[0];
	const struct item *item;
	struct ktr_stamp now;
	struct merge merge;
	uint64_t ahead = 0;

	if (!rings->mem->live || merge_open(&merge, &rings, 1, MERGE_NEWEST, NULL, NULL) != 0)
		return 0;
	item = merge_next(&merge);
	if (item && !item->corrupt && rings->header.clock != KTR_CLOCK_COARSE &&
	    sources_stamp(rings->header.clock, &now) && item->entry->ktr_time > now.clock)
		ahead = item->entry->ktr_time - now.clock;
	merge_close(&merge);
	return ahead;
}

/* Counters that disagree show up as entries newer than now. */
static void tdump_note_skew(const struct tdump *t)
{
	uint64_t skew = merge_skew(&t->merge), ahead = entry_ahead_of_now(t);

	if (ahead)
		note("the newest entry is 0x%llx clocks newer than now: counters of CPUs are not "
		     "synchronised, the order may be wrong; -s shows each CPU by itself",
		     (unsigned long long)ahead);
	else if (skew)
		note("the clock went back by 0x%llx between entries of one CPU: counters are not "
		     "synchronised, the order may be wrong; -s shows each CPU by itself",
		     (unsigned long long)skew);
}

static bool tdump_wants_cpu(void *arg, uint32_t cpu)
{
	const struct tdump *t = arg;

	return !t->opt.has_cpus || cpulist_next(&t->opt.cpu_list, (int)cpu) == (int)cpu;
}

static void tdump_measure_columns(struct tdump *t)
{
	char digits[20];

	t->cpu_width = 1;
	t->index_width = 3;
	for (size_t i = 0; i < t->nrings; i++) {
		int cpu = (int)(format_hex(digits, t->rings[i]->header.ncpu - 1) - digits);
		int index = (int)(format_hex(digits, t->rings[i]->header.entries - 1) - digits);

		t->cpu_width = cpu > t->cpu_width ? cpu : t->cpu_width;
		t->index_width = index > t->index_width ? index : t->index_width;
	}
}

/* The origin of relative times, found before anything is printed. */
static uint64_t tdump_newest_time(const struct tdump *t)
{
	struct merge merge;
	const struct item *item;
	uint64_t newest = 0;

	if (merge_open(&merge, t->rings, t->nrings, MERGE_NEWEST, NULL, NULL) != 0)
		return 0;
	do
		item = merge_next(&merge);
	while (item && item->corrupt);
	if (item)
		newest = item->time;
	merge_close(&merge);
	return newest;
}

static int tdump_print(struct tdump *t)
{
	uint64_t last = 0;
	int code, err;

	code = out_begin(&t->out, &t->opt);
	if (!code)
		code = tdump_form_begin(t);
	if (code)
		return code;
	if (t->opt.follow)
		code = tdump_follow(t);
	else
		code = t->opt.oldest ? tdump_print_oldest(t, &last) : tdump_print_newest(t);
	if (!code)
		code = tdump_form_end(t);
	t->out.complete = !code;
	err = merge_error(&t->merge);
	if (!code && err && !t->opt.follow) {
		code = out_flush(&t->out);
		code = code ? code : tdump_read_failed(t, err);
	}
	if (!code)
		tdump_note_skew(t);
	return code;
}

/* An output must not be an input.  Text never replaces a recording; rings may replace rings. */
static int tdump_check_output(const struct tdump_options *o)
{
	const char *path = o->saved ? o->saved : o->output;

	if (!path)
		return 0;
	return guard_input_file(path, o->input, "file") ?:
	       guard_input_file(path, o->core, "core dump") ?:
	       guard_input_file(path, o->exec, "program") ?:
	       guard_output(path, o->saved ? GUARD_TRACE : GUARD_TEXT);
}

static int tdump_run(struct tdump *t)
{
	enum merge_order order = t->opt.apart ? MERGE_APART :
		t->opt.oldest || t->opt.follow ? MERGE_OLDEST : MERGE_NEWEST;
	int code = tdump_check_output(&t->opt) ?: sources_open(t), err;

	if (code)
		return code;
	tdump_measure_columns(t);
	if (t->opt.verbose)
		t->newest = tdump_newest_time(t);
	err = merge_open(&t->merge, t->rings, t->nrings, order, tdump_wants_cpu, t);
	if (err)
		return err == -ENOMEM ? tdump_no_memory() : tdump_read_failed(t, err);
	if (t->opt.saved)
		code = save_rings(t);
	else
		code = out_end(&t->out, tdump_print(t));
	return code;
}

int main(int argc, char *argv[])
{
	struct tdump t = { .opt.form = FORM_TEXT };
	bool ended = false;
	int code;

	msg_open_standard();
	signal(SIGPIPE, SIG_IGN);
	code = args_parse(&t, argc, argv, &ended);
	if (!code && !ended)
		code = tdump_run(&t);
	merge_close(&t.merge);
	sources_close(&t);
	buf_free(&t.text);
	free(t.chrome);
	/* FreeBSD's ktrdump has one exit status for all failures. */
	return t.opt.ktrdump && code ? 1 : code;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* See perf_file.h.  Only numbers that perf itself does not change are used: files live long. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/common.h"
#include "perf_file.h"

#define CHUNK	   (256u * 1024)	/* bytes of records in one write */
#define ROUND_DONE 68	/* a record: all records before it are older than those behind it */
#define ATTR_SIZE  PERF_ATTR_SIZE_VER5	/* perf refuses sizes above its own */
#define ALIGN	   8u

struct section {
	uint64_t offset, size;
};
struct header {
	char magic[8];
	uint64_t size, attr_size;
	struct section attrs, records, types;
	uint64_t features[4];
};

/* Features of the recording, in the order of their numbers. */
enum feature { FEATURE_VERSION = 5, FEATURE_MACHINE = 6, FEATURE_CPU = 8, FEATURE_EVENTS = 12,
	       FEATURE_TIMES = 21, FEATURES };

static int perf_cannot_seek(const struct perf_file *f)
{
	return fail(EX_USAGE, "ERROR: \"%s\" is a pipe or a terminal, but perf.data's header is "
		    "written last: name a file.", f->out.name);
}

int perf_file_open(struct perf_file *f, const char *path)
{
	const struct header none = { 0 };
	int code = out_open(&f->out, path, OUTPUT_WHOLE);

	if (code)
		return code;
	if (lseek(f->out.fd, 0, SEEK_CUR) < 0)
		return perf_cannot_seek(f);
	buf_add(&f->out.text, (const char *)&none, sizeof(none));
	return 0;
}

/* --- records --------------------------------------------------------------------------------- */

static void perf_add_long(struct buf *b, uint64_t value)
{
	buf_add(b, (const char *)&value, sizeof(value));
}

static void perf_add_int(struct buf *b, uint32_t value)
{
	buf_add(b, (const char *)&value, sizeof(value));
}

/* NUL to the next multiple of ALIGN, at least one. */
static void perf_pad(struct buf *b, size_t len)
{
	static const char zeros[ALIGN];

	buf_add(b, zeros, ALIGN - len % ALIGN);
}

size_t perf_file_begin(struct perf_file *f, uint32_t type, uint16_t misc)
{
	const struct perf_event_header head = { .type = type, .misc = misc };
	size_t begin = f->out.text.len;

	buf_add(&f->out.text, (const char *)&head, sizeof(head));
	return begin;
}

void perf_file_long(struct perf_file *f, uint64_t value)
{
	perf_add_long(&f->out.text, value);
}

void perf_file_ints(struct perf_file *f, uint32_t first, uint32_t second)
{
	perf_add_int(&f->out.text, first);
	perf_add_int(&f->out.text, second);
}

void perf_file_text(struct perf_file *f, const char *text, size_t max)
{
	size_t len = strnlen(text, max - 1);

	buf_add(&f->out.text, text, len);
	perf_pad(&f->out.text, len);
}

/* Readers sort by time, and would keep all records in memory without this mark. */
static int perf_push(struct perf_file *f)
{
	size_t begin = perf_file_begin(f, ROUND_DONE, 0);
	const uint16_t size = sizeof(struct perf_event_header);

	if (!f->out.text.failed)
		memcpy(f->out.text.data + begin + offsetof(struct perf_event_header, size), &size,
		       sizeof(size));
	f->records += size;
	return out_push_all(&f->out);
}

int perf_file_end(struct perf_file *f, size_t begin)
{
	struct buf *b = &f->out.text;
	const uint16_t size = (uint16_t)(b->len - begin);

	if (!b->failed)
		memcpy(b->data + begin + offsetof(struct perf_event_header, size), &size,
		       sizeof(size));
	f->records += size;
	return b->failed || b->len >= CHUNK ? perf_push(f) : 0;
}

/* --- behind the records ---------------------------------------------------------------------- */

/* A text of the file's features: its size, the text, NUL. */
static void perf_add_text(struct buf *b, const char *text)
{
	size_t len = strlen(text);

	perf_add_int(b, (uint32_t)(len + ALIGN - len % ALIGN));
	buf_add(b, text, len);
	perf_pad(b, len);
}

/* An attribute of any type: perf shows the event by its name. */
static void perf_add_attr(struct buf *b, const struct walk_event *ev)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW, .size = ATTR_SIZE, .config = ev->id,
		.sample_period = ev->rate ? ev->rate : 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN,
		.sample_id_all = 1, .mmap = 1, .mmap2 = 1, .comm = 1, .task = 1,
	};

	buf_add(b, (const char *)&attr, ATTR_SIZE);
}

/* PMCs of one event are one event of perf's with several numbers, which are added. */
static uint32_t perf_add_ids(struct buf *b, const struct walk *w, uint32_t first)
{
	const struct walk_event *ev;
	uint32_t n = 0;

	for (uint32_t i = first; (ev = walk_event(w, i)); i++) {
		if (ev->first != first)
			continue;
		perf_add_long(b, perf_file_id(i));
		n++;
	}
	return n;
}

static void perf_add_events(struct buf *b, const struct walk *w)
{
	const struct walk_event *ev;
	struct buf ids = { 0 };
	uint32_t n = 0;

	for (uint32_t i = 0; (ev = walk_event(w, i)); i++)
		n += ev->first == i;
	perf_add_int(b, n);
	perf_add_int(b, ATTR_SIZE);
	for (uint32_t i = 0; (ev = walk_event(w, i)); i++) {
		if (ev->first != i)
			continue;
		ids.len = 0;
		perf_add_attr(b, ev);
		perf_add_int(b, perf_add_ids(&ids, w, i));
		perf_add_text(b, ev->name);
		buf_add(b, ids.data, ids.len);
		b->failed |= ids.failed;
	}
	buf_free(&ids);
}

/* false: not known. */
static bool perf_add_feature(struct buf *b, enum feature feature, const struct perf_file *f,
			     const struct walk *w)
{
	const char *cpu = walk_stats(w)->cpu;

	if (feature == FEATURE_VERSION) {
		perf_add_text(b, "pmcbpf " PMCBPF_VERSION);
	} else if (feature == FEATURE_MACHINE && f->machine) {
		perf_add_text(b, f->machine);
	} else if (feature == FEATURE_CPU && *cpu) {
		perf_add_text(b, cpu);
	} else if (feature == FEATURE_EVENTS) {
		perf_add_events(b, w);
	} else if (feature == FEATURE_TIMES) {
		perf_add_long(b, f->first);
		perf_add_long(b, f->last);
	} else {
		return false;
	}
	return true;
}

/* The table of features follows the records, and the features follow it. */
static uint64_t perf_add_features(struct buf *b, uint64_t offset, const struct perf_file *f,
				  const struct walk *w)
{
	struct section table[FEATURES];
	struct buf text = { 0 };
	uint64_t known = 0;
	size_t n = 0;

	for (unsigned int i = 0; i < FEATURES; i++) {
		size_t at = text.len;

		if (!perf_add_feature(&text, i, f, w))
			continue;
		known |= 1ull << i;
		table[n++] = (struct section){ at, text.len - at };
	}
	for (size_t i = 0; i < n; i++)
		table[i].offset += offset + n * sizeof(table[0]);
	buf_add(b, (const char *)table, n * sizeof(table[0]));
	buf_add(b, text.data, text.len);
	b->failed |= text.failed;
	buf_free(&text);
	return known;
}

/* The events, each with the position of its numbers, which are written first. */
static struct section perf_add_attrs(struct buf *b, uint64_t offset, const struct walk *w)
{
	const struct walk_event *ev;
	struct section attrs;
	struct buf list = { 0 };

	for (uint32_t i = 0; (ev = walk_event(w, i)); i++) {
		struct section ids = { offset + b->len, 0 };

		if (ev->first != i)
			continue;
		ids.size = perf_add_ids(b, w, i) * sizeof(uint64_t);
		perf_add_attr(&list, ev);
		buf_add(&list, (const char *)&ids, sizeof(ids));
	}
	attrs = (struct section){ offset + b->len, list.len };
	buf_add(b, list.data, list.len);
	b->failed |= list.failed;
	buf_free(&list);
	return attrs;
}

int perf_file_finish(struct perf_file *f, const struct walk *w)
{
	struct header head = {
		.magic = "PERFILE2", .size = sizeof(head),
		.attr_size = ATTR_SIZE + sizeof(head.attrs),
	};
	struct buf *b = &f->out.text;
	int code;

	if (!walk_event(w, 0))
		return fail(EX_DATAERR, "ERROR: the log has no PMC, and perf reads no file "
			    "without an event");
	code = perf_push(f);
	if (code)
		return code;
	head.records = (struct section){ sizeof(head), f->records };
	head.features[0] = perf_add_features(b, sizeof(head) + f->records, f, w);
	head.attrs = perf_add_attrs(b, sizeof(head) + f->records, w);
	code = out_push_all(&f->out);
	if (!code && pwrite(f->out.fd, &head, sizeof(head), 0) != sizeof(head))
		code = fail_errno(EX_OSERR, "ERROR: cannot write to \"%s\"", f->out.name);
	if (!code)
		out_complete(&f->out);
	return code;
}

int perf_file_close(struct perf_file *f)
{
	return out_close(&f->out);
}

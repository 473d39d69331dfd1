/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes log records. */
#include <string.h>

#include "loader/base/base.h"
#include "logrec.h"


static void bytes_put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void bytes_put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void prefix_put(uint8_t *to, const struct logclock *clock, uint64_t ns, unsigned int type,
		       size_t len)
{
	uint64_t wall = ns + (uint64_t)clock->to_wall;

	bytes_put32(to, PMCLOG_HEADER(type, len));
	if (clock->format == LOGFMT_OLD) {
		bytes_put32(to + 4, (uint32_t)(wall / NS_PER_S));
		bytes_put32(to + 8, (uint32_t)(wall % NS_PER_S));
		return;
	}
	bytes_put32(to + 4, 0);
	bytes_put64(to + 8, ns);
}

size_t logrec_path(char *to, const char *path, size_t room)
{
	static const char mark[3] = "...";
	size_t len = strlen(path), end = room - 1 - sizeof(mark);

	if (len < room) {
		memcpy(to, path, len + 1);
		return len;
	}
	memcpy(to, mark, sizeof(mark));
	memcpy(to + sizeof(mark), path + len - end, end + 1);
	return room - 1;
}

static size_t path_room(enum logfmt format)
{
	return format == LOGFMT_OLD ? LOGREC_OLD_PATH : LOGREC_PATH;
}

/* Bytes of the note behind a path of `path` bytes; both together are at most a path's maximum. */
static size_t note_size(const struct pmclog_ev *ev, enum logfmt format, size_t path)
{
	size_t size = 0, note;

	if (ev->pl_type == PMCLOG_TYPE_MAP_IN && ev->pl_u.pl_mi.pl_buildidlen <= PMCLOG_BUILDID_MAX)
		size = ev->pl_u.pl_mi.pl_buildidlen;
	else if (ev->pl_type == PMCLOG_TYPE_PROCEXEC && format == LOGFMT_NEW)
		size = ev->pl_u.pl_x.pl_entryaddr ? 8 : 0;
	note = LOGFMT_NOTE + (size + 3) / 4 * 4;
	return size && path + note <= path_room(format) ? note : 0;
}

/* Bytes of a field behind the fixed part. */
static size_t tail_size(const struct logfmt_field *f, const struct pmclog_ev *ev,
			enum logfmt format)
{
	static const uint64_t zero;
	const char *from = (const char *)ev + f->ev;
	size_t path;

	switch (f->kind) {
	case LOGFMT_PATH:
		path = (strnlen(from, path_room(format) - 1) + 4) / 4 * 4;
		return path + note_size(ev, format, path);
	case LOGFMT_CHAIN:
		return (size_t)ev->pl_u.pl_cc.pl_npc * 8;
	case LOGFMT_WORDS:
		return (size_t)ev->pl_u.pl_v.pl_nwords * 8;
	case LOGFMT_MORE:
		return memcmp(from, &zero, 8) ? 8 : 0;
	default:
		return 0;
	}
}

static void path_put(uint8_t *to, const char *path, const struct pmclog_ev *ev, enum logfmt format)
{
	size_t len = (logrec_path((char *)to, path, path_room(format)) + 4) / 4 * 4;
	const struct pmclog_ev_map_in *mi = &ev->pl_u.pl_mi;

	if (!note_size(ev, format, len))
		return;
	to += len;
	bytes_put32(to, 4);
	if (ev->pl_type == PMCLOG_TYPE_PROCEXEC) {
		bytes_put32(to + 4, 8);
		bytes_put32(to + 8, LOGFMT_ENTRY_TYPE);
		bytes_put32(to + 12, LOGFMT_ENTRY_NAME);
		bytes_put64(to + LOGFMT_NOTE, ev->pl_u.pl_x.pl_entryaddr);
		return;
	}
	bytes_put32(to + 4, mi->pl_buildidlen);
	bytes_put32(to + 8, LOGFMT_NOTE_TYPE);
	bytes_put32(to + 12, LOGFMT_NOTE_NAME);
	memcpy(to + LOGFMT_NOTE, mi->pl_buildid, mi->pl_buildidlen);
}

/* Writes fields into zeroed bytes.  `tail`: size of the fields behind the fixed part. */
static void fields_put(uint8_t *to, const struct logfmt_record *r, enum logfmt format,
		       const struct pmclog_ev *ev, size_t tail)
{
	for (const struct logfmt_field *f = r->field; f->kind; f++) {
		const char *from = (const char *)ev + f->ev;
		unsigned int at = f->at[format];

		if (f->kind == LOGFMT_PATH)
			path_put(to + r->fixed[format], from, ev, format);
		else if (!f->size && tail_size(f, ev, format))
			memcpy(to + r->fixed[format], from, tail);
		else if (f->kind == LOGFMT_TEXT && at)
			memcpy(to + at, from, strnlen(from, f->size - 1u));
		else if (at)
			memcpy(to + at, from, f->size);
	}
}

size_t logrec_encode(uint8_t *to, const struct logclock *clock, uint64_t ns,
		     const struct pmclog_ev *ev)
{
	enum logfmt format = clock->format;
	const struct logfmt_record *r = ev->pl_type == PMCLOG_TYPE_MAPPINGCHANGE ?
						logfmt_records : logfmt_find(ev->pl_type);
	size_t len, tail = 0;

	if (!r || !r->fixed[format])
		return 0;
	for (const struct logfmt_field *f = r->field; f->kind; f++)
		tail += tail_size(f, ev, format);
	len = r->fixed[format] + tail;
	/* Padding, and bytes behind a text's NUL, must not show earlier contents of the buffer. */
	memset(to, 0, len);
	prefix_put(to, clock, ns, logfmt_number(format, (unsigned int)(r - logfmt_records)), len);
	fields_put(to, r, format, ev, tail);
	return len;
}

size_t logrec_callchain_size(const struct logclock *clock, unsigned int npc)
{
	return logfmt_records[PMCLOG_TYPE_CALLCHAIN].fixed[clock->format] + 8 * (size_t)npc;
}

void logrec_callchain(uint8_t *to, const struct logclock *clock, uint64_t ns,
		      const struct pmclog_ev_callchain *c, const uint64_t *pc)
{
	const struct logfmt_record *r = &logfmt_records[PMCLOG_TYPE_CALLCHAIN];
	size_t len = logrec_callchain_size(clock, (unsigned int)c->pl_npc);
	const struct logfmt_field *f = r->field;

	prefix_put(to, clock, ns, PMCLOG_TYPE_CALLCHAIN, len);
	/* All that come before the addresses have 4 bytes. */
	for (; f->size; f++)
		if (f->at[clock->format])
			memcpy(to + f->at[clock->format],
			       (const char *)c + (f->ev - offsetof(struct pmclog_ev, pl_u)), 4);
	memcpy(to + r->fixed[clock->format], pc, 8 * (size_t)c->pl_npc);
}

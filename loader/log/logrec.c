/* SPDX-License-Identifier: BSD-2-Clause */
/* Encodes log records. */
#include <string.h>

#include "logrec.h"

#define NS 1000000000ull

static void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static size_t put_prefix(uint8_t *to, const struct logclock *clock, uint64_t ns, unsigned int type,
			 size_t len)
{
	uint64_t wall = ns + (uint64_t)clock->to_wall;

	put32(to, PMCLOG_HEADER(type, len));
	if (clock->format == LOGFMT_OLD) {
		put32(to + 4, (uint32_t)(wall / NS));
		put32(to + 8, (uint32_t)(wall % NS));
		return LOGFMT_OLD_PREFIX;
	}
	put32(to + 4, 0);
	put64(to + 8, ns);
	return LOGFMT_NEW_PREFIX;
}

static uint64_t number(const struct pmclog_ev *ev, const struct logfmt_field *f)
{
	const char *p = (const char *)ev + f->ev;
	uint64_t v64;
	uint32_t v32;

	if (f->ev_size == sizeof(v64)) {
		memcpy(&v64, p, sizeof(v64));
		return v64;
	}
	memcpy(&v32, p, sizeof(v32));
	return v32;
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

/* Bytes of the note behind a path of `path` bytes; readers take as many together as of a path. */
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

static uint64_t tail_number(const struct logfmt_record *r, const struct pmclog_ev *ev)
{
	uint64_t value;

	memcpy(&value, (const char *)ev + r->tail_ev, sizeof(value));
	return value;
}

static size_t tail_size(const struct logfmt_record *r, const struct pmclog_ev *ev,
			enum logfmt format)
{
	const char *tail = (const char *)ev + r->tail_ev;
	size_t path;

	if (r->tail == TAIL_PATH) {
		path = (strnlen(tail, path_room(format) - 1) + 4) / 4 * 4;
		return path + note_size(ev, format, path);
	}
	if (r->tail == TAIL_NUMBER)
		return tail_number(r, ev) ? 8 : 0;
	return r->tail == TAIL_PCS ? (size_t)ev->pl_u.pl_cc.pl_npc * 8 : 0;
}

static void put_path(uint8_t *to, const char *path, const struct pmclog_ev *ev, enum logfmt format)
{
	size_t len = (logrec_path((char *)to, path, path_room(format)) + 4) / 4 * 4;
	const struct pmclog_ev_map_in *mi = &ev->pl_u.pl_mi;

	if (!note_size(ev, format, len))
		return;
	to += len;
	put32(to, 4);
	if (ev->pl_type == PMCLOG_TYPE_PROCEXEC) {
		put32(to + 4, 8);
		put32(to + 8, LOGFMT_ENTRY_TYPE);
		put32(to + 12, LOGFMT_ENTRY_NAME);
		put64(to + LOGFMT_NOTE, ev->pl_u.pl_x.pl_entryaddr);
		return;
	}
	put32(to + 4, mi->pl_buildidlen);
	put32(to + 8, LOGFMT_NOTE_TYPE);
	put32(to + 12, LOGFMT_NOTE_NAME);
	memcpy(to + LOGFMT_NOTE, mi->pl_buildid, mi->pl_buildidlen);
}

size_t logrec_encode(uint8_t *to, const struct logclock *clock, uint64_t ns,
		     const struct pmclog_ev *ev)
{
	int type = clock->format == LOGFMT_OLD ? logfmt_old_number(ev->pl_type) : (int)ev->pl_type;
	const struct logfmt_record *r;
	size_t len, tail;

	if (type < 0 || (unsigned int)type >= LOGFMT_TYPES)
		return 0;
	r = clock->format == LOGFMT_OLD ? &logfmt_old[type] : &logfmt_new[type];
	if (!r->fixed)
		return 0;
	tail = tail_size(r, ev, clock->format);
	len = r->fixed + tail;
	/* Padding and what lies behind a text's NUL tell nobody what was there before. */
	memset(to, 0, len);
	put_prefix(to, clock, ns, (unsigned int)type, len);
	for (const struct logfmt_field *f = r->field; f < r->field + LOGFMT_FIELDS && f->size;
	     f++) {
		const char *text = (const char *)ev + f->ev;

		if (f->size == 4)
			put32(to + f->at, (uint32_t)number(ev, f));
		else if (f->size == 8)
			put64(to + f->at, number(ev, f));
		else
			memcpy(to + f->at, text, strnlen(text, f->size - 1u));
	}
	if (r->tail == TAIL_PATH)
		put_path(to + r->fixed, (const char *)ev + r->tail_ev, ev, clock->format);
	else if (r->tail == TAIL_PCS)
		memcpy(to + r->fixed, ev->pl_u.pl_cc.pl_pc, tail);
	else if (r->tail == TAIL_NUMBER && tail)
		put64(to + r->fixed, tail_number(r, ev));
	return len;
}

size_t logrec_callchain_size(const struct logclock *clock, unsigned int npc)
{
	return (clock->format == LOGFMT_OLD ? 24 : 32) + 8 * (size_t)npc;
}

void logrec_callchain(uint8_t *to, const struct logclock *clock, uint64_t ns,
		      const struct pmclog_ev_callchain *c, const uint64_t *pc)
{
	size_t len = logrec_callchain_size(clock, (unsigned int)c->pl_npc);
	uint8_t *p = to + put_prefix(to, clock, ns, PMCLOG_TYPE_CALLCHAIN, len);

	put32(p, c->pl_pid);
	p += 4;
	if (clock->format == LOGFMT_NEW) {
		put32(p, c->pl_tid);
		p += 4;
	}
	put32(p, c->pl_pmcid);
	put32(p + 4, c->pl_cpuflags);
	memcpy(p + 8, pc, 8 * (size_t)c->pl_npc);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FreeBSD's lines for a log's records, byte for byte.  Logs have millions of samples, so numbers
 * are written by hand instead of by printf.
 */
#include <inttypes.h>
#include <string.h>

#include <pmc.h>

#include "lib/base/chain_end.h"
#include "lib/base/logfield.h"
#include "lib/base/logfmt.h"
#include "lib/base/logvalues.h"
#include "logtext.h"

#define TAG_WIDTH 10u			/* a tag of up to nine letters, and a blank */

struct logtext_line {
	char text[512];
	size_t len;
};

static void line_add_char(struct logtext_line *l, char c)
{
	l->text[l->len++] = c;
}

static inline void line_add_tag(struct logtext_line *l, const char *tag)
{
	size_t n = strlen(tag), width = n < TAG_WIDTH ? TAG_WIDTH : n + 1;

	memset(l->text + l->len, ' ', width);
	memcpy(l->text + l->len, tag, n);
	l->len += width;
}

/* Digits are written in place: copying a few bytes costs more than making them. */
static void line_add_digits(struct logtext_line *l, uint64_t value)
{
	unsigned int n = 1;
	char *p;

	for (uint64_t v = value; v >= 10; v /= 10)
		n++;
	p = l->text + l->len + n;
	l->len += n;
	do
		*--p = (char)('0' + value % 10);
	while (value /= 10);
}

static void line_add_hex(struct logtext_line *l, uint64_t value)
{
	unsigned int n = (67u - (unsigned int)__builtin_clzll(value | 1)) / 4;
	char *p = l->text + l->len;

	p[0] = '0';
	p[1] = 'x';
	l->len += n + 2;
	for (p += n + 1; n; n--, value >>= 4)
		*p-- = "0123456789abcdef"[value & 15];
}

static void line_add_number(struct logtext_line *l, int64_t value)
{
	if (value < 0)
		line_add_char(l, '-');
	line_add_digits(l, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

static void line_end(struct buf *out, struct logtext_line *l)
{
	line_add_char(l, '\n');
	buf_add(out, l->text, l->len);
	l->len = 0;
}

/* Control characters become '?', because the text may go to a terminal. */
static void line_add_quoted(struct buf *out, struct logtext_line *l, const char *text)
{
	line_add_char(l, '"');
	for (; *text; text++) {
		if (l->len >= sizeof(l->text) - 8) {
			buf_add(out, l->text, l->len);
			l->len = 0;
		}
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			line_add_char(l, '?');
		else
			line_add_char(l, *text);
	}
	line_add_char(l, '"');
}

static void line_mark(struct logtext_line *l, const char *tag, const char *text)
{
	size_t len = strlen(text);

	line_add_tag(l, tag);
	memcpy(l->text + l->len, text, len);
	l->len += len;
	line_add_char(l, '\n');
}

/* FreeBSD has no line for missing callers, and for callers without proof: these tags are ours. */
static void line_chain_end(struct buf *out, struct logtext_line *l,
			   const struct pmclog_ev_callchain *c)
{
	const int cut = (int)chain_end_cut_at(c->pl_cpuflags, c->pl_pc,
					  c->pl_npc > 0 ? (unsigned int)c->pl_npc : 0);
	const uint32_t end = PMC_CC_F_TO_END(c->pl_cpuflags);

	line_add_char(l, '\n');
	for (int i = 0; i < c->pl_npc; i++) {
		if (l->len >= sizeof(l->text) - 2 * CHAIN_FRAME_MAX) {
			buf_add(out, l->text, l->len);
			l->len = 0;
		}
		line_add_tag(l, "...");
		line_add_hex(l, c->pl_pc[i]);
		line_add_char(l, '\n');
		if (i + 1 == cut)
			line_mark(l, "cut", chain_end_cut_text(end));
	}
	if (c->pl_cpuflags & PMC_CC_F_POINTERS)
		line_mark(l, "pointers", "some callers are without proof");
	buf_add(out, l->text, l->len);
	l->len = 0;
}

static void line_chain(struct buf *out, struct logtext_line *l, const struct pmclog_ev_callchain *c)
{
	line_add_tag(l, "callchain");
	line_add_number(l, (int32_t)c->pl_pid);
	line_add_char(l, ' ');
	line_add_hex(l, c->pl_pmcid);
	line_add_char(l, ' ');
	line_add_number(l, PMC_CALLCHAIN_CPUFLAGS_TO_CPU(c->pl_cpuflags));
	line_add_char(l, ' ');
	line_add_number(l, c->pl_npc);
	line_add_char(l, ' ');
	line_add_char(l, PMC_CALLCHAIN_CPUFLAGS_TO_USERMODE(c->pl_cpuflags) ? 'u' : 's');
	line_chain_end(out, l, c);
}

static void line_add_text(struct buf *out, struct logtext_line *l, const char *text)
{
	size_t n = strlen(text);

	if (l->len + n > sizeof(l->text) - 32) {
		buf_add(out, l->text, l->len);
		l->len = 0;
	}
	if (n > sizeof(l->text) - 32) {
		buf_add(out, text, n);
		return;
	}
	memcpy(l->text + l->len, text, n);
	l->len += n;
}

/* "64:ip=0x401000:sp=0x7ffd…"; "none" where the thread has none. */
static void line_add_registers(struct buf *out, struct logtext_line *l, const uint64_t *at)
{
	if (!(uint32_t)at[0]) {
		line_add_text(out, l, "none");
		return;
	}
	line_add_text(out, l, (uint32_t)at[0] == LOGVALUE_ABI_32 ? "32" : "64");
	for (unsigned int bit = 0, n = 2; bit < 64; bit++) {
		const char *name = logvalue_register((uint32_t)(at[0] >> 32), bit);

		if (!(at[1] >> bit & 1))
			continue;
		line_add_text(out, l, ":");
		line_add_text(out, l, name ? name : "?");
		line_add_text(out, l, "=");
		line_add_hex(l, at[n++]);
	}
}

/* "0xFROM>0xTO/FLAGS", the newest first. */
static void line_add_branches(struct buf *out, struct logtext_line *l, const uint64_t *at)
{
	for (uint64_t i = 0; i < at[0]; i++) {
		line_add_text(out, l, i ? ":" : "");
		line_add_hex(l, at[1 + 3 * i]);
		line_add_text(out, l, ">");
		line_add_hex(l, at[2 + 3 * i]);
		line_add_text(out, l, "/");
		line_add_hex(l, at[3 + 3 * i]);
	}
}

/* A name from a log, which may be hostile. */
static void line_add_name(struct buf *out, struct logtext_line *l, const char *name)
{
	if (l->len > sizeof(l->text) / 2) {
		buf_add(out, l->text, l->len);
		l->len = 0;
	}
	for (; *name; name++)
		line_add_char(l, *name > ' ' && *name < 0x7f ? *name : '?');
}

/* "{fd=3 filename="/etc/passwd"}"; a field that is not in the record is "?". */
static void line_add_record(struct buf *out, struct logtext_line *l,
			    const struct pmclog_ev_values *v, const uint64_t *at)
{
	struct buf text = { .len = 0 };
	size_t size;

	line_add_text(out, l, "{");
	for (unsigned int i = 0; i < v->pl_nfields; i++) {
		const struct pmclog_ev_field *f = &v->pl_field[i];
		const uint8_t *from = logfield_bytes(at, f, &size);

		line_add_text(out, l, i ? " " : "");
		line_add_name(out, l, f->pl_name);
		line_add_text(out, l, "=");
		text.len = 0;
		if (from)
			logfield_text(&text, f, from, size);
		buf_add(&text, "", 1);
		if (!from || text.failed)
			line_add_text(out, l, "?");
		else if (f->pl_flags & PMCLOG_FIELD_TEXT)
			line_add_quoted(out, l, text.data);
		else
			line_add_text(out, l, text.data);
	}
	line_add_text(out, l, (uint32_t)at[0] < at[0] >> 32 ? " cut}" : "}");
	out->failed |= text.failed;
	buf_free(&text);
}

static void line_values(struct buf *out, struct logtext_line *l, const struct pmclog_ev_values *v)
{
	line_add_tag(l, "values");
	line_add_hex(l, v->pl_pmcid);
	for (unsigned int i = 0; i < PMCLOG_VALUES; i++) {
		unsigned int n;
		const uint64_t *at = pmclog_value(v, (enum pmclog_value)(1u << i), &n);

		if (!at)
			continue;
		line_add_text(out, l, " ");
		line_add_text(out, l, logvalues[i].name);
		line_add_text(out, l, "=");
		if (logvalues[i].kind == LOGVALUE_REGISTERS)
			line_add_registers(out, l, at);
		else if (logvalues[i].kind == LOGVALUE_BRANCHES)
			line_add_branches(out, l, at);
		else if (logvalues[i].kind == LOGVALUE_RECORD)
			line_add_record(out, l, v, at);
		else if (logvalues[i].kind == LOGVALUE_COUNT)
			line_add_digits(l, *at);
		else
			line_add_hex(l, *at);
	}
	line_end(out, l);
}

static void line_add_field(struct buf *out, struct logtext_line *l, const struct logfmt_field *f,
			   const struct pmclog_ev *ev)
{
	const char *from = (const char *)ev + f->ev;
	uint64_t value = logfmt_value(f, ev);

	switch (f->kind) {
	case LOGFMT_PID:
	case LOGFMT_TID:
	case LOGFMT_BORN:
		line_add_number(l, (int32_t)value);
		break;
	case LOGFMT_MODE:
		line_add_char(l, value ? 'u' : 's');
		break;
	case LOGFMT_CPUTYPE:
		from = pmc_name_of_cputype((enum pmc_cputype)value);
		line_add_quoted(out, l, from ? from : "(unknown)");
		break;
	case LOGFMT_HEX:
	case LOGFMT_ADDRESS:
		line_add_hex(l, value);
		break;
	case LOGFMT_COUNT:
		line_add_digits(l, value);
		break;
	case LOGFMT_MORE:
		if (value)
			line_add_digits(l, value);
		break;
	case LOGFMT_TEXT:
	case LOGFMT_PATH:
		line_add_quoted(out, l, from);
		break;
	case LOGFMT_STRING:
		line_add_quoted(out, l, *(const char *const *)from);
		break;
	default:
		break;
	}
}

/* The waker of the chain behind it. */
static void line_waker(struct buf *out, struct logtext_line *l, const struct pmclog_ev_waker *w)
{
	static const char *const kinds[] = {
		[PMCLOG_WAKER_INTERRUPT] = "interrupt", [PMCLOG_WAKER_OTHER] = "other",
		[PMCLOG_WAKER_UNKNOWN] = "unknown",
	};
	const struct pmclog_ev_callchain *c = &w->pl_chain;

	line_add_tag(l, "waker");
	line_add_hex(l, c->pl_pmcid);
	line_add_char(l, ' ');
	if (w->pl_kind == PMCLOG_WAKER_THREAD) {
		line_add_number(l, (int32_t)c->pl_pid);
		line_add_char(l, ' ');
		line_add_number(l, (int32_t)c->pl_tid);
		line_add_char(l, ' ');
		line_add_quoted(out, l, w->pl_tdname);
	} else {
		line_add_text(out, l, w->pl_kind <= PMCLOG_WAKER_UNKNOWN && kinds[w->pl_kind] ?
					      kinds[w->pl_kind] : "?");
	}
	line_chain_end(out, l, c);
}

void logtext(struct buf *out, const struct pmclog_ev *ev)
{
	const struct logfmt_record *r = logfmt_find(ev->pl_type);
	struct logtext_line l;	/* its text is not worth clearing */

	l.len = 0;
	if (ev->pl_type == PMCLOG_TYPE_CALLCHAIN) {
		line_chain(out, &l, &ev->pl_u.pl_cc);
		return;
	}
	if (ev->pl_type == PMCLOG_TYPE_WAKER) {
		line_waker(out, &l, &ev->pl_u.pl_wk);
		return;
	}
	if (ev->pl_type == PMCLOG_TYPE_VALUES) {
		line_values(out, &l, &ev->pl_u.pl_v);
		return;
	}
	if (r) {
		line_add_tag(&l, r->tag);
		for (const char *column = r->columns; *column; column++) {
			if (column > r->columns)
				line_add_char(&l, ' ');
			line_add_field(out, &l, &r->field[*column - '0'], ev);
		}
	} else {
		buf_printf(out, "unknown event (type %d).", (int)ev->pl_type);
	}
	line_end(out, &l);
}

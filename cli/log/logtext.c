/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FreeBSD's lines for a log's records, byte for byte.  Logs have millions of samples, so numbers
 * are written by hand instead of by printf.
 */
#include <inttypes.h>
#include <string.h>

#include <pmc.h>

#include "logtext.h"

#define TAG_WIDTH 10u			/* a tag of up to nine letters, and a blank */

struct line {
	char text[512];
	size_t len;
};

static void add_char(struct line *l, char c)
{
	l->text[l->len++] = c;
}

static inline void add_tag(struct line *l, const char *tag)
{
	size_t n = strlen(tag), width = n < TAG_WIDTH ? TAG_WIDTH : n + 1;

	memset(l->text + l->len, ' ', width);
	memcpy(l->text + l->len, tag, n);
	l->len += width;
}

/* Digits go where they belong at once: copying a few bytes costs more than making them. */
static void add_digits(struct line *l, uint64_t value)
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

static void add_hex(struct line *l, uint64_t value)
{
	unsigned int n = (67u - (unsigned int)__builtin_clzll(value | 1)) / 4;
	char *p = l->text + l->len;

	p[0] = '0';
	p[1] = 'x';
	l->len += n + 2;
	for (p += n + 1; n; n--, value >>= 4)
		*p-- = "0123456789abcdef"[value & 15];
}

static void add_number(struct line *l, int64_t value)
{
	if (value < 0)
		add_char(l, '-');
	add_digits(l, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

/* Fields, each with the blank before it unless it is the first. */
static void hex(struct line *l, uint64_t value)
{
	add_char(l, ' ');
	add_hex(l, value);
}

static void num(struct line *l, int64_t value)
{
	add_char(l, ' ');
	add_number(l, value);
}

static void count(struct line *l, uint64_t value)
{
	add_char(l, ' ');
	add_digits(l, value);
}

static void line_end(struct buf *out, struct line *l)
{
	add_char(l, '\n');
	buf_add(out, l->text, l->len);
	l->len = 0;
}

/* What a name or a path may not do to a terminal. */
static void quoted(struct buf *out, struct line *l, const char *text)
{
	add_char(l, ' ');
	add_char(l, '"');
	for (; *text; text++) {
		if (l->len >= sizeof(l->text) - 8) {
			buf_add(out, l->text, l->len);
			l->len = 0;
		}
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			add_char(l, '?');
		else
			add_char(l, *text);
	}
	add_char(l, '"');
}

static void callchain(struct buf *out, struct line *l, const struct pmclog_ev_callchain *c)
{
	add_tag(l, "callchain");
	add_number(l, (int32_t)c->pl_pid);
	hex(l, c->pl_pmcid);
	num(l, PMC_CALLCHAIN_CPUFLAGS_TO_CPU(c->pl_cpuflags));
	num(l, c->pl_npc);
	add_char(l, ' ');
	add_char(l, PMC_CALLCHAIN_CPUFLAGS_TO_USERMODE(c->pl_cpuflags) ? 'u' : 's');
	add_char(l, '\n');
	for (int i = 0; i < c->pl_npc; i++) {
		if (l->len >= sizeof(l->text) - 32) {
			buf_add(out, l->text, l->len);
			l->len = 0;
		}
		add_tag(l, "...");
		add_hex(l, c->pl_pc[i]);
		add_char(l, '\n');
	}
	buf_add(out, l->text, l->len);
	l->len = 0;
}

static void allocation(struct buf *out, struct line *l, const char *tag, pmc_id_t id,
		       const char *event, uint32_t flags)
{
	add_tag(l, tag);
	add_hex(l, id);
	quoted(out, l, event);
	hex(l, flags);
}

static void initialize(struct buf *out, struct line *l, const struct pmclog_ev_initialize *i)
{
	const char *cpu = pmc_name_of_cputype((enum pmc_cputype)i->pl_arch);

	add_tag(l, "initlog");
	add_hex(l, i->pl_version);
	quoted(out, l, cpu ? cpu : "(unknown)");
}

static void process_record(struct buf *out, struct line *l, const struct pmclog_ev *ev)
{
	switch (ev->pl_type) {
	case PMCLOG_TYPE_PROCCSW:
		add_tag(l, "cswval");
		add_hex(l, ev->pl_u.pl_c.pl_pmcid);
		num(l, ev->pl_u.pl_c.pl_pid);
		count(l, ev->pl_u.pl_c.pl_value);
		break;
	case PMCLOG_TYPE_PROCEXEC:
		add_tag(l, "exec");
		add_hex(l, ev->pl_u.pl_x.pl_pmcid);
		num(l, ev->pl_u.pl_x.pl_pid);
		hex(l, ev->pl_u.pl_x.pl_baseaddr);
		quoted(out, l, ev->pl_u.pl_x.pl_pathname);
		break;
	case PMCLOG_TYPE_PROCEXIT:
		add_tag(l, "exitval");
		add_hex(l, ev->pl_u.pl_e.pl_pmcid);
		num(l, (int32_t)ev->pl_u.pl_e.pl_pid);
		count(l, ev->pl_u.pl_e.pl_value);
		break;
	case PMCLOG_TYPE_PROCFORK:
		add_tag(l, "fork");
		add_number(l, ev->pl_u.pl_f.pl_oldpid);
		num(l, ev->pl_u.pl_f.pl_newpid);
		break;
	case PMCLOG_TYPE_SYSEXIT:
		add_tag(l, "exit");
		add_number(l, ev->pl_u.pl_se.pl_pid);
		break;
	case PMCLOG_TYPE_PROC_CREATE:
		add_tag(l, "proccreate");
		add_number(l, ev->pl_u.pl_pc.pl_pid);
		hex(l, ev->pl_u.pl_pc.pl_flags);
		quoted(out, l, ev->pl_u.pl_pc.pl_pcomm);
		break;
	case PMCLOG_TYPE_THR_CREATE:
		add_tag(l, "thr-create");
		add_number(l, ev->pl_u.pl_tc.pl_tid);
		num(l, ev->pl_u.pl_tc.pl_pid);
		hex(l, ev->pl_u.pl_tc.pl_flags);
		quoted(out, l, ev->pl_u.pl_tc.pl_tdname);
		break;
	case PMCLOG_TYPE_THR_EXIT:
		add_tag(l, "thr-exit");
		add_number(l, ev->pl_u.pl_te.pl_tid);
		break;
	default:
		buf_printf(out, "unknown event (type %d).", (int)ev->pl_type);
	}
}

static void mapping(struct buf *out, struct line *l, const struct pmclog_ev *ev)
{
	bool in = ev->pl_type == PMCLOG_TYPE_MAP_IN;

	add_tag(l, in ? "map-in" : "map-out");
	add_number(l, in ? ev->pl_u.pl_mi.pl_pid : ev->pl_u.pl_mo.pl_pid);
	hex(l, in ? ev->pl_u.pl_mi.pl_start : ev->pl_u.pl_mo.pl_start);
	if (in)
		quoted(out, l, ev->pl_u.pl_mi.pl_pathname);
	else
		hex(l, ev->pl_u.pl_mo.pl_end);
}

void logtext(struct buf *out, const struct pmclog_ev *ev)
{
	struct line l;	/* its text is not worth clearing */

	l.len = 0;
	switch (ev->pl_type) {
	case PMCLOG_TYPE_CALLCHAIN:
		callchain(out, &l, &ev->pl_u.pl_cc);
		return;
	case PMCLOG_TYPE_INITIALIZE:
		initialize(out, &l, &ev->pl_u.pl_i);
		break;
	case PMCLOG_TYPE_CLOSELOG:
		add_tag(&l, "closelog");
		break;
	case PMCLOG_TYPE_DROPNOTIFY:
		add_tag(&l, "drop");
		if (ev->pl_u.pl_dn.pl_lost)
			add_digits(&l, ev->pl_u.pl_dn.pl_lost);
		break;
	case PMCLOG_TYPE_MAP_IN:
	case PMCLOG_TYPE_MAP_OUT:
		mapping(out, &l, ev);
		break;
	case PMCLOG_TYPE_PCSAMPLE:
		add_tag(&l, "sample");
		add_hex(&l, ev->pl_u.pl_s.pl_pmcid);
		num(&l, ev->pl_u.pl_s.pl_pid);
		hex(&l, ev->pl_u.pl_s.pl_pc);
		add_char(&l, ' ');
		add_char(&l, ev->pl_u.pl_s.pl_usermode ? 'u' : 's');
		break;
	case PMCLOG_TYPE_PMCALLOCATE:
		allocation(out, &l, "allocate", ev->pl_u.pl_a.pl_pmcid, ev->pl_u.pl_a.pl_evname,
			   ev->pl_u.pl_a.pl_flags);
		break;
	case PMCLOG_TYPE_PMCALLOCATEDYN:
		allocation(out, &l, "allocatedyn", ev->pl_u.pl_ad.pl_pmcid,
			   ev->pl_u.pl_ad.pl_evname, ev->pl_u.pl_ad.pl_flags);
		break;
	case PMCLOG_TYPE_PMCATTACH:
		add_tag(&l, "attach");
		add_hex(&l, ev->pl_u.pl_t.pl_pmcid);
		num(&l, ev->pl_u.pl_t.pl_pid);
		quoted(out, &l, ev->pl_u.pl_t.pl_pathname);
		break;
	case PMCLOG_TYPE_PMCDETACH:
		add_tag(&l, "detach");
		add_hex(&l, ev->pl_u.pl_d.pl_pmcid);
		num(&l, ev->pl_u.pl_d.pl_pid);
		break;
	case PMCLOG_TYPE_USERDATA:
		add_tag(&l, "userdata");
		add_hex(&l, ev->pl_u.pl_u.pl_userdata);
		break;
	default:
		process_record(out, &l, ev);
	}
	line_end(out, &l);
}

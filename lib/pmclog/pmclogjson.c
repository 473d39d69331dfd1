/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records as JSON (RFC 8259).  Keys are the names of struct pmclog_ev without their "pl_"; the text
 * is UTF-8 whatever bytes a path holds.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <pmcformat.h>

#include "lib/pmc/lib.h"
#include "lib/base/utf8.h"

/* As snprintf(3) writes: `len` counts what has no room, too. */
struct json {
	char *to;
	size_t size, len;
	bool comma;			/* a value precedes the next one at this level */
};

static void json_add(struct json *j, const char *text, size_t len)
{
	size_t room = j->len < j->size ? j->size - j->len : 0;

	if (room)
		memcpy(j->to + j->len, text, len < room ? len : room);
	j->len += len;
}

static void json_quoted(struct json *j, const char *text)
{
	static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
	const unsigned char *s = (const unsigned char *)text;
	char escape[8];

	json_add(j, "\"", 1);
	while (*s) {
		const char *known = strchr(plain, *s);
		size_t len = utf8_length(s);

		if (known)
			snprintf(escape, sizeof(escape), "\\%c", letter[known - plain]);
		else
			snprintf(escape, sizeof(escape), "\\u%04x", len ? *s : 0xfffd);
		if (known || !len || *s < ' ')
			json_add(j, escape, strlen(escape));
		else
			json_add(j, (const char *)s, len);
		s += len ? len : 1;
	}
	json_add(j, "\"", 1);
}

static void json_key(struct json *j, const char *key)
{
	if (j->comma)
		json_add(j, ",", 1);
	j->comma = true;
	if (key) {
		json_quoted(j, key);
		json_add(j, ":", 1);
	}
}

static void json_open(struct json *j, const char *key, char bracket)
{
	json_key(j, key);
	json_add(j, &bracket, 1);
	j->comma = false;
}

static void json_close(struct json *j, char bracket)
{
	json_add(j, &bracket, 1);
	j->comma = true;
}

static void json_string(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	if (text)
		json_quoted(j, text);
	else
		json_add(j, "null", 4);
}

static const char *const types[] = {
	[PMCLOG_TYPE_CLOSELOG] = "closelog",	   [PMCLOG_TYPE_DROPNOTIFY] = "dropnotify",
	[PMCLOG_TYPE_INITIALIZE] = "initialize",   [PMCLOG_TYPE_PCSAMPLE] = "pcsample",
	[PMCLOG_TYPE_PMCALLOCATE] = "pmcallocate", [PMCLOG_TYPE_PMCATTACH] = "pmcattach",
	[PMCLOG_TYPE_PMCDETACH] = "pmcdetach",	   [PMCLOG_TYPE_PROCCSW] = "proccsw",
	[PMCLOG_TYPE_PROCEXEC] = "procexec",	   [PMCLOG_TYPE_PROCEXIT] = "procexit",
	[PMCLOG_TYPE_PROCFORK] = "procfork",	   [PMCLOG_TYPE_SYSEXIT] = "sysexit",
	[PMCLOG_TYPE_USERDATA] = "userdata",	   [PMCLOG_TYPE_MAP_IN] = "map_in",
	[PMCLOG_TYPE_MAP_OUT] = "map_out",	   [PMCLOG_TYPE_CALLCHAIN] = "callchain",
	[PMCLOG_TYPE_THR_CREATE] = "thr_create",   [PMCLOG_TYPE_THR_EXIT] = "thr_exit",
	[PMCLOG_TYPE_PROC_CREATE] = "proc_create", [PMCLOG_TYPE_PMCALLOCATEDYN] = "pmcallocatedyn",
};

static void number(struct json *j, const char *key, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	json_string(j, key, text);
}

static void count(struct json *j, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	json_string(j, key, text);
}

static void hex(struct json *j, const char *key, uint32_t value)
{
	char text[16];

	snprintf(text, sizeof(text), "0x%08" PRIx32, value);
	json_string(j, key, text);
}

static void address(struct json *j, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%016" PRIx64, value);
	json_string(j, key, text);
}

static void buildid(struct json *j, const struct pmclog_ev_map_in *mi)
{
	char text[2 * PMCLOG_BUILDID_MAX + 1];

	for (unsigned int i = 0; i < mi->pl_buildidlen; i++)
		snprintf(text + 2 * i, 3, "%02x", mi->pl_buildid[i]);
	if (mi->pl_buildidlen)
		json_string(j, "buildid", text);
}

static void put_chain(struct json *j, const struct pmclog_ev_callchain *c)
{
	hex(j, "pmcid", c->pl_pmcid);
	number(j, "pid", (int32_t)c->pl_pid);
	number(j, "tid", (int32_t)c->pl_tid);
	hex(j, "cpuflags", c->pl_cpuflags);
	json_open(j, "pc", '[');
	for (int i = 0; i < c->pl_npc; i++)
		address(j, NULL, c->pl_pc[i]);
	json_close(j, ']');
}

static void put_pmc(struct json *j, const struct pmclog_ev *ev)
{
	switch (ev->pl_type) {
	case PMCLOG_TYPE_PMCALLOCATE:
		hex(j, "pmcid", ev->pl_u.pl_a.pl_pmcid);
		hex(j, "event", ev->pl_u.pl_a.pl_event);
		hex(j, "flags", ev->pl_u.pl_a.pl_flags);
		count(j, "rate", ev->pl_u.pl_a.pl_rate);
		json_string(j, "evname", ev->pl_u.pl_a.pl_evname);
		break;
	case PMCLOG_TYPE_PMCALLOCATEDYN:
		hex(j, "pmcid", ev->pl_u.pl_ad.pl_pmcid);
		hex(j, "event", ev->pl_u.pl_ad.pl_event);
		hex(j, "flags", ev->pl_u.pl_ad.pl_flags);
		count(j, "rate", ev->pl_u.pl_ad.pl_rate);
		json_string(j, "evname", ev->pl_u.pl_ad.pl_evname);
		break;
	case PMCLOG_TYPE_PMCATTACH:
		hex(j, "pmcid", ev->pl_u.pl_t.pl_pmcid);
		number(j, "pid", ev->pl_u.pl_t.pl_pid);
		json_string(j, "pathname", ev->pl_u.pl_t.pl_pathname);
		break;
	case PMCLOG_TYPE_PMCDETACH:
		hex(j, "pmcid", ev->pl_u.pl_d.pl_pmcid);
		number(j, "pid", ev->pl_u.pl_d.pl_pid);
		break;
	case PMCLOG_TYPE_PROCCSW:
		hex(j, "pmcid", ev->pl_u.pl_c.pl_pmcid);
		number(j, "pid", ev->pl_u.pl_c.pl_pid);
		number(j, "tid", ev->pl_u.pl_c.pl_tid);
		count(j, "value", ev->pl_u.pl_c.pl_value);
		break;
	case PMCLOG_TYPE_PROCEXIT:
		hex(j, "pmcid", ev->pl_u.pl_e.pl_pmcid);
		number(j, "pid", (int32_t)ev->pl_u.pl_e.pl_pid);
		count(j, "value", ev->pl_u.pl_e.pl_value);
		break;
	default:
		break;
	}
}

static void put_process(struct json *j, const struct pmclog_ev *ev)
{
	switch (ev->pl_type) {
	case PMCLOG_TYPE_PROCEXEC:
		hex(j, "pmcid", ev->pl_u.pl_x.pl_pmcid);
		number(j, "pid", ev->pl_u.pl_x.pl_pid);
		address(j, "base", ev->pl_u.pl_x.pl_baseaddr);
		address(j, "dyn", ev->pl_u.pl_x.pl_dynaddr);
		json_string(j, "pathname", ev->pl_u.pl_x.pl_pathname);
		break;
	case PMCLOG_TYPE_PROCFORK:
		number(j, "oldpid", ev->pl_u.pl_f.pl_oldpid);
		number(j, "newpid", ev->pl_u.pl_f.pl_newpid);
		break;
	case PMCLOG_TYPE_SYSEXIT:
		number(j, "pid", ev->pl_u.pl_se.pl_pid);
		break;
	case PMCLOG_TYPE_MAP_IN:
		number(j, "pid", ev->pl_u.pl_mi.pl_pid);
		address(j, "start", ev->pl_u.pl_mi.pl_start);
		json_string(j, "pathname", ev->pl_u.pl_mi.pl_pathname);
		buildid(j, &ev->pl_u.pl_mi);
		break;
	case PMCLOG_TYPE_MAP_OUT:
		number(j, "pid", ev->pl_u.pl_mo.pl_pid);
		address(j, "start", ev->pl_u.pl_mo.pl_start);
		address(j, "end", ev->pl_u.pl_mo.pl_end);
		break;
	case PMCLOG_TYPE_DROPNOTIFY:
		count(j, "lost", ev->pl_u.pl_dn.pl_lost);
		break;
	case PMCLOG_TYPE_THR_CREATE:
		number(j, "tid", ev->pl_u.pl_tc.pl_tid);
		number(j, "pid", ev->pl_u.pl_tc.pl_pid);
		hex(j, "flags", ev->pl_u.pl_tc.pl_flags);
		json_string(j, "tdname", ev->pl_u.pl_tc.pl_tdname);
		break;
	case PMCLOG_TYPE_THR_EXIT:
		number(j, "tid", ev->pl_u.pl_te.pl_tid);
		break;
	case PMCLOG_TYPE_PROC_CREATE:
		number(j, "pid", ev->pl_u.pl_pc.pl_pid);
		hex(j, "flags", ev->pl_u.pl_pc.pl_flags);
		json_string(j, "pcomm", ev->pl_u.pl_pc.pl_pcomm);
		break;
	default:
		put_pmc(j, ev);
	}
}

PMC_API_PUBLIC size_t pmclog_json(const struct pmclog_ev *ev, char *to, size_t size)
{
	struct json j = { .to = to, .size = size };
	size_t type = (size_t)ev->pl_type;

	json_open(&j, NULL, '{');
	json_string(&j, "type", type < sizeof(types) / sizeof(types[0]) ? types[type] : NULL);
	count(&j, "tsc", ev->pl_tsc);
	if (ev->pl_type == PMCLOG_TYPE_INITIALIZE) {
		hex(&j, "version", ev->pl_u.pl_i.pl_version);
		hex(&j, "arch", ev->pl_u.pl_i.pl_arch);
		count(&j, "tsc_freq", ev->pl_u.pl_i.pl_tsc_freq);
		json_string(&j, "cpuid", ev->pl_u.pl_i.pl_cpuid);
	} else if (ev->pl_type == PMCLOG_TYPE_CALLCHAIN) {
		put_chain(&j, &ev->pl_u.pl_cc);
	} else if (ev->pl_type == PMCLOG_TYPE_PCSAMPLE) {
		hex(&j, "pmcid", ev->pl_u.pl_s.pl_pmcid);
		number(&j, "pid", ev->pl_u.pl_s.pl_pid);
		address(&j, "pc", ev->pl_u.pl_s.pl_pc);
		number(&j, "usermode", ev->pl_u.pl_s.pl_usermode);
	} else if (ev->pl_type == PMCLOG_TYPE_USERDATA) {
		hex(&j, "userdata", ev->pl_u.pl_u.pl_userdata);
	} else {
		put_process(&j, ev);
	}
	json_close(&j, '}');
	if (size)
		to[j.len < size ? j.len : size - 1] = '\0';
	return j.len;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records as JSON (RFC 8259).  Keys are the members of struct pmclog_ev without "pl_"; the text is
 * UTF-8, whatever bytes a path has.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <pmcformat.h>

#include "lib/base/chain_end.h"
#include "lib/base/json.h"
#include "lib/base/logfmt.h"
#include "lib/pmc/pmc.h"

static void json_value(struct json *j, const char *key, const char *format, uint64_t value)
{
	char text[24];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), format, value);
#pragma GCC diagnostic pop
	json_string(j, key, text);
}

static void json_buildid(struct json *j, const struct pmclog_ev_map_in *mi)
{
	char text[2 * PMCLOG_BUILDID_MAX + 1];

	for (unsigned int i = 0; i < mi->pl_buildidlen; i++)
		snprintf(text + 2 * i, 3, "%02x", mi->pl_buildid[i]);
	if (mi->pl_buildidlen)
		json_string(j, "buildid", text);
}

static void json_chain(struct json *j, const char *key, const struct pmclog_ev_callchain *c)
{
	json_open(j, key, '[');
	for (int i = 0; i < c->pl_npc; i++)
		json_value(j, NULL, "0x%016" PRIx64, c->pl_pc[i]);
	json_close(j, ']');
	if (PMC_CC_F_TO_END(c->pl_cpuflags) != PMC_CHAIN_NOT_RECORDED)
		json_string(j, "end", chain_end_key(PMC_CC_F_TO_END(c->pl_cpuflags)));
	if (c->pl_cpuflags & PMC_CC_F_CUT)
		json_bool(j, "cut", true);
	if (c->pl_cpuflags & PMC_CC_F_POINTERS)
		json_bool(j, "pointers", true);
}

static void json_field(struct json *j, const struct pmclog_ev *ev, const struct logfmt_field *f)
{
	const void *from = (const char *)ev + f->ev;
	uint64_t value = logfmt_value(f, ev);

	switch (f->kind) {
	case LOGFMT_HEX:
	case LOGFMT_CPUTYPE:
		json_value(j, f->key, "0x%08" PRIx64, value);
		break;
	case LOGFMT_PID:
	case LOGFMT_TID:
	case LOGFMT_BORN:
	case LOGFMT_MODE:
		json_value(j, f->key, "%" PRId64, (uint64_t)(int32_t)value);
		break;
	case LOGFMT_COUNT:
	case LOGFMT_MORE:
		json_value(j, f->key, "%" PRIu64, value);
		break;
	case LOGFMT_ADDRESS:
		json_value(j, f->key, "0x%016" PRIx64, value);
		break;
	case LOGFMT_TEXT:
	case LOGFMT_PATH:
		json_string(j, f->key, from);
		break;
	case LOGFMT_STRING:
		json_string(j, f->key, *(const char *const *)from);
		break;
	case LOGFMT_CHAIN:
		json_chain(j, f->key, &ev->pl_u.pl_cc);
		break;
	case LOGFMT_BUILDID:
		json_buildid(j, &ev->pl_u.pl_mi);
		break;
	default:
		break;
	}
}

PMC_API_PUBLIC size_t pmclog_json(const struct pmclog_ev *ev, char *to, size_t size)
{
	const struct logfmt_record *r = logfmt_find(ev->pl_type);
	struct buf out = BUF_FIXED(to, size);
	struct json j = { .out = &out };

	json_open(&j, NULL, '{');
	json_string(&j, "type", r ? r->name : NULL);
	json_value(&j, "tsc", "%" PRIu64, ev->pl_tsc);
	for (const struct logfmt_field *f = r ? r->field : NULL; f && f->kind; f++)
		if (f->key)
			json_field(&j, ev, f);
	json_close(&j, '}');
	return buf_end(&out);
}

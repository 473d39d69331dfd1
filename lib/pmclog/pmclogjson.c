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
#include "lib/base/logfield.h"
#include "lib/base/logfmt.h"
#include "lib/base/logvalues.h"
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

/* {"abi": 64, "ip": "0x…", …}; {} where the thread has none. */
static void json_registers(struct json *j, const char *key, const uint64_t *at)
{
	json_open(j, key, '{');
	if ((uint32_t)at[0])
		json_number(j, "abi", (uint32_t)at[0] == LOGVALUE_ABI_32 ? 32 : 64);
	for (unsigned int bit = 0, n = 2; (uint32_t)at[0] && bit < 64; bit++) {
		const char *name = logvalue_register((uint32_t)(at[0] >> 32), bit);
		char number[8];

		if (!(at[1] >> bit & 1))
			continue;
		snprintf(number, sizeof(number), "r%u", bit);
		json_value(j, name ? name : number, "0x%016" PRIx64, at[n++]);
	}
	json_close(j, '}');
}

static void json_branches(struct json *j, const char *key, const uint64_t *at)
{
	json_open(j, key, '[');
	for (uint64_t i = 0; i < at[0]; i++) {
		json_open(j, NULL, '{');
		json_value(j, "from", "0x%016" PRIx64, at[1 + 3 * i]);
		json_value(j, "to", "0x%016" PRIx64, at[2 + 3 * i]);
		json_value(j, "flags", "0x%" PRIx64, at[3 + 3 * i]);
		json_close(j, '}');
	}
	json_close(j, ']');
}

/*
 * {"NAME": "…", …}, null where a field is not in the record; behind it the bytes that the whole
 * record has, if it is cut.  The object has an end, whatever a log has: an honest one has no more
 * fields, and together these have at most the record's bytes.
 */
static void json_record(struct json *j, const char *key, const struct pmclog_ev_values *v,
			const uint64_t *at)
{
	size_t left = LOGVALUE_RAW_MAX, size;

	json_open(j, key, '{');
	for (unsigned int i = 0; i < v->pl_nfields && i < PMCLOG_FIELDS_MAX; i++) {
		const struct pmclog_ev_field *f = &v->pl_field[i];
		const uint8_t *from = logfield_bytes(at, f, &size);
		struct buf text = { .len = 0 };

		if (from && size <= left) {
			left -= size;
			logfield_text(&text, f, from, size);
			buf_add(&text, "", 1);
			json_string(j, f->pl_name, text.failed ? NULL : text.data);
			buf_free(&text);
		} else {
			json_null(j, f->pl_name);
		}
	}
	json_close(j, '}');
	if ((uint32_t)at[0] < at[0] >> 32)
		json_number(j, "raw-cut", at[0] >> 32);
}

static void json_words(struct json *j, const char *key, const struct pmclog_ev_values *v)
{
	json_open(j, key, '{');
	for (unsigned int i = 0; i < PMCLOG_VALUES; i++) {
		const char *name = logvalues[i].name;
		unsigned int n;
		const uint64_t *at = pmclog_value(v, (enum pmclog_value)(1u << i), &n);

		if (!at)
			continue;
		if (logvalues[i].kind == LOGVALUE_REGISTERS)
			json_registers(j, name, at);
		else if (logvalues[i].kind == LOGVALUE_BRANCHES)
			json_branches(j, name, at);
		else if (logvalues[i].kind == LOGVALUE_RECORD)
			json_record(j, name, v, at);
		else
			json_value(j, name, logvalues[i].kind == LOGVALUE_COUNT ? "%" PRIu64 :
				   "0x%016" PRIx64, *at);
	}
	json_close(j, '}');
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
	case LOGFMT_WORDS:
		json_words(j, f->key, &ev->pl_u.pl_v);
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

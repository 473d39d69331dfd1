/* SPDX-License-Identifier: BSD-2-Clause */
/* See sample_python.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pmclog.h>

#include "lib/base/array.h"
#include "lib/base/index.h"
#include "loader/kernel/kernel.h"
#include "loader/log/log.h"
#include "loader/python/python.h"
#include "kept_record.h"
#include "sample_python.h"

#define CHAIN_MAX   (2 * ABI_CHAIN_MAX + 1)	/* addresses of a sample */
#define FRAME_WORDS (sizeof(struct python_frame) / 8)
#define HEAD_WORDS  (sizeof(struct abi_python) / 8)

/* Beyond either, all are forgotten. */
#define CODES_MAX   8192u
#define CODES_BYTES (32u << 20)

struct code {
	struct abi_code_key key;
	uint32_t number;
	struct python_code *read;
};

struct sample_python {
	struct samplers *samplers;
	struct code *code;
	size_t ncodes, room, bytes;
	struct index index;		/* of codes, by key */
	uint32_t number;		/* the last one that was given */
	uint64_t merged[CHAIN_MAX + ABI_PYTHON_FRAMES + 1];
	struct kept_records *kept;
};

struct sample_python *sample_python_new(struct kept_records *kept)
{
	struct sample_python *s = calloc(1, sizeof(*s));

	if (s) {
		s->kept = kept;
		s->number = PMCLOG_CODE_FIRST - 1;
	}
	return s;
}

static void codes_forget(struct sample_python *s)
{
	for (size_t i = 0; s->code && i < s->ncodes; i++)
		free(s->code[i].read);
	s->ncodes = s->bytes = 0;
	index_clear(&s->index);
	if (s->samplers)
		samplers_forget_codes(s->samplers);
}

void sample_python_free(struct sample_python *s)
{
	if (!s)
		return;
	s->samplers = NULL;
	codes_forget(s);
	index_free(&s->index);
	free(s->code);
	free(s);
}

void sample_python_program(struct sample_python *s, struct samplers *samplers)
{
	s->samplers = samplers;
}

/* --- code objects ----------------------------------------------------------------------------- */

struct code_search {
	const struct sample_python *s;
	struct abi_code_key key;
};

static bool code_is(const void *arg, uint32_t position)
{
	const struct code_search *c = arg;
	const struct abi_code_key *key = &c->s->code[position].key;

	return key->program == c->key.program && key->identity == c->key.identity;
}

static uint32_t code_hash(const struct code_search *c)
{
	return index_fold(index_mix(c->key.program, c->key.identity));
}

/* NULL: it is not known. */
static const struct code *code_find(const struct sample_python *s, uint64_t program,
				    uint64_t identity)
{
	const struct code_search c = { s, { program, identity } };
	const uint32_t at = index_find(&s->index, code_hash(&c), code_is, &c);

	return at == INDEX_NONE ? NULL : &s->code[at];
}

/* A code object's memory, as it is in the record. */
struct code_copy {
	struct python_memory memory;	/* first */
	const struct abi_code *c;
};

static int code_part(void *to, size_t size, uint64_t address, const void *part, uint64_t begin,
		     uint64_t bytes)
{
	const uint64_t at = address - begin;

	if (address < begin || at > bytes || size > bytes - at)
		return -EFAULT;
	memcpy(to, (const uint8_t *)part + at, size);
	return 0;
}

static int code_copy_read(const struct python_memory *m, void *to, size_t size, uint64_t address)
{
	const struct abi_code *c = ((const struct code_copy *)m)->c;
	const uint8_t *data = (const uint8_t *)(c + 1);
	int err = code_part(to, size, address, c->word, c->address,
			    PYTHON_CODE_WORDS * sizeof(c->word[0]));

	for (unsigned int i = 0; err && i < ABI_CODE_BLOCKS; i++) {
		err = code_part(to, size, address, data, c->block[i].address, c->block[i].bytes);
		data += (c->block[i].bytes + 7) & ~7ull;
	}
	return err;
}

static bool code_record_check(const struct abi_code *c, size_t words)
{
	size_t n = sizeof(*c) / 8;

	if (words < n || !python_layout_check(&c->process.layout))
		return false;
	for (unsigned int i = 0; i < ABI_CODE_BLOCKS; i++) {
		if (c->block[i].bytes > 8 * words)
			return false;
		n += (c->block[i].bytes + 7) / 8;
	}
	return n == words;
}

static int code_add(struct sample_python *s, const struct abi_code_key *key,
		    struct python_code *read)
{
	const struct code_search c = { s, *key };
	int err = array_reserve(s->code, s->room, s->ncodes + 1);

	err = err ?: index_add(&s->index, code_hash(&c), (uint32_t)s->ncodes);
	if (err)
		return err;
	s->code[s->ncodes++] = (struct code){ *key, ++s->number, read };
	s->bytes += sizeof(*read) + read->nlines;
	return 0;
}

/* One that cannot be read has no name, and is not sent again. */
void sample_python_code(struct sample_python *s, const uint64_t *data, size_t words)
{
	const struct abi_code *c = (const struct abi_code *)data;
	const struct code_copy m = { { code_copy_read }, c };
	struct abi_code_key key;
	struct python_code *read;

	if (!code_record_check(c, words))
		return;
	key = (struct abi_code_key){ c->program, c->identity };
	if (code_find(s, key.program, key.identity) ||
	    python_code_read(&read, &c->process, &m.memory, c->address, c->identity))
		return;
	if (s->ncodes >= CODES_MAX || s->bytes >= CODES_BYTES)
		codes_forget(s);
	if (code_add(s, &key, read))
		free(read);
}

/* --- records ---------------------------------------------------------------------------------- */

static bool frames_check(const struct abi_python *p, size_t words)
{
	return words >= HEAD_WORDS && p->frames &&
	       p->frames <= ABI_PYTHON_FRAMES && p->pointers <= CHAIN_MAX &&
	       p->first <= CHAIN_MAX &&
	       words == HEAD_WORDS + p->frames * FRAME_WORDS + p->pointers;
}

const struct abi_python *sample_python_frames(struct sample_python *s, const struct abi_rec *rec)
{
	size_t words;
	const struct abi_python *p = (const struct abi_python *)kept_record_take(
		s->kept, ABI_REC_PYTHON, rec, &words);

	return p && frames_check(p, words) && rec->n <= CHAIN_MAX &&
	       p->first + p->pointers == rec->n ? p : NULL;
}

/* --- chains ----------------------------------------------------------------------------------- */

struct merge {
	struct sample_python *s;
	struct logfile *log;
	uint64_t time;
	const struct abi_python *p;
	const struct python_frame *frame;
	const uint64_t *sp;		/* of the addresses from p->first on */
	uint32_t next;			/* frame */
	uint32_t n;			/* addresses of the result */
};

static void code_name(const struct merge *m, const struct code *code)
{
	struct pmclog_ev ev = { .pl_type = PMCLOG_TYPE_MAP_IN };
	struct pmclog_ev_map_in *mi = &ev.pl_u.pl_mi;

	mi->pl_pid = -1;
	mi->pl_start = PMCLOG_PC_PYTHON | (uint64_t)code->number << PMCLOG_PC_CODE_SHIFT;
	snprintf(mi->pl_pathname, sizeof(mi->pl_pathname), PMCLOG_CODE_PREFIX "%s\t%s",
		 code->read->name, code->read->file);
	(void)logfile_put(m->log, m->time, &ev);
}

/* Writes the name that the log lacks. */
static void code_need(const struct merge *m, const struct code *code)
{
	if (logfile_names(m->log, code->number))
		code_name(m, code);
}

static void frame_put(struct merge *m, const struct python_frame *f)
{
	const struct code *code = code_find(m->s, m->p->program, f->identity);
	uint64_t number = code ? code->number : PMCLOG_CODE_UNKNOWN;
	uint32_t line = code ? python_code_line(code->read, f->instruction) : 0;

	if (code)
		code_need(m, code);
	if (line > PMCLOG_PC_LINE_MAX)
		line = 0;
	m->s->merged[m->n++] = PMCLOG_PC_PYTHON | number << PMCLOG_PC_CODE_SHIFT | line;
}

/* The end of the frames that one call of the interpreter's loop runs; 0: it is not known. */
static uint32_t call_end(const struct merge *m)
{
	for (uint32_t i = m->next; i < m->p->frames; i++)
		if (m->frame[i].loop)
			return i + 1;
	return 0;
}

/*
 * Behind the address i of a sample: the frames that its code runs, if that is the interpreter's
 * loop, one of whose variables `loop` is the address of.
 */
static void call_put(struct merge *m, uint32_t i)
{
	const uint32_t at = i - m->p->first;
	uint32_t end;

	if (i < m->p->first || at + 1 >= m->p->pointers)
		return;
	while ((end = call_end(m)) && m->frame[end - 1].loop >= m->sp[at] &&
	       m->frame[end - 1].loop < m->sp[at + 1])
		for (; m->next < end; m->next++)
			if (m->frame[m->next].code)
				frame_put(m, &m->frame[m->next]);
}

void sample_python_names(struct sample_python *s, struct logfile *log, uint64_t time,
			 const struct abi_python *p)
{
	const struct merge m = { .s = s, .log = log, .time = time, .p = p };
	const struct python_frame *frame = (const struct python_frame *)(p + 1);
	const struct code *code;

	for (uint32_t i = 0; i < p->frames && logfile_has(log, PMCLOG_TYPE_THR_CREATE); i++) {
		code = frame[i].code ? code_find(s, p->program, frame[i].identity) : NULL;
		if (code)
			code_need(&m, code);
	}
}

const uint64_t *sample_python_merge(struct sample_python *s, struct logfile *log,
				    struct abi_rec *rec, const uint64_t *data,
				    const struct abi_python *p)
{
	struct merge m = { .s = s, .log = log, .time = rec->time, .p = p };
	uint32_t missing = 0;		/* where the mark of missing frames goes; 0: nowhere */

	if (!p || !logfile_has(log, PMCLOG_TYPE_THR_CREATE))
		return data;
	m.frame = (const struct python_frame *)(p + 1);
	m.sp = (const uint64_t *)(m.frame + p->frames);
	for (uint32_t i = 0; i < rec->n; i++) {
		const uint32_t next = m.next;

		s->merged[m.n++] = data[i];
		call_put(&m, i);
		if (i == p->first || m.next > next)
			missing = m.n;
	}
	/* Those beyond the end of a chain that is cut are missing with its callers. */
	if (missing && (p->end != PYTHON_END ||
			(m.next < p->frames && rec->end == UNWIND_WHOLE))) {
		memmove(s->merged + missing + 1, s->merged + missing,
			(m.n - missing) * sizeof(s->merged[0]));
		s->merged[missing] = PMCLOG_PC_PYTHON;
		m.n++;
	}
	rec->n = (uint16_t)m.n;
	return s->merged;
}

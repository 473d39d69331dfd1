/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Python frames among the addresses of a sample: their places, their names in the log, and records
 * that make no sense.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pmclog.h>

#include "loader/log/log.h"
#include "loader/pmc/kept_record.h"
#include "loader/pmc/sample_python.h"
#include "loader/python/python.h"
#include "unit.h"

#define PYTHON_READ(arg, to, size, address) memory_copy(to, size, address)
static int memory_copy(void *to, size_t size, uint64_t address);
#include "bpf/python/python.bpf.h"

#define PROGRAM 99u
#define CODE	0x100000ull
#define NAME	0x200000ull
#define FILE_AT 0x300000ull
#define LINES	0x400000ull
#define UNNAMED (PMCLOG_PC_PYTHON | (uint64_t)PMCLOG_CODE_UNKNOWN << PMCLOG_PC_CODE_SHIFT)

/* --- the log ---------------------------------------------------------------------------------- */

static bool old_format;
static uint32_t named[64];
static unsigned int nnamed, nwritten;
static struct pmclog_ev written;

bool __wrap_logfile_has(const struct logfile *l, enum pmclog_type type);
bool __wrap_logfile_names(struct logfile *l, uint32_t number);
int __wrap_logfile_put(struct logfile *l, uint64_t ns, const struct pmclog_ev *ev);

bool __wrap_logfile_has(const struct logfile *l, enum pmclog_type type)
{
	return !old_format;
}

bool __wrap_logfile_names(struct logfile *l, uint32_t number)
{
	for (unsigned int i = 0; i < nnamed; i++)
		if (named[i] == number)
			return false;
	named[nnamed++] = number;
	return true;
}

int __wrap_logfile_put(struct logfile *l, uint64_t ns, const struct pmclog_ev *ev)
{
	written = *ev;
	nwritten++;
	return 0;
}

/* --- records ---------------------------------------------------------------------------------- */

static struct {
	struct abi_python head;
	uint64_t data[2048];
} frames;
static struct abi_rec rec = { .kind = ABI_REC_PYTHON, .time = 5, .pmc = 7, .tid = 9, .cpu = 1 };
static struct abi_rec sample;
static struct kept_records *kept;
static __u8 native_end = UNWIND_WHOLE;

static void frames_begin(void)
{
	memset(&frames, 0, sizeof(frames));
	frames.head = (struct abi_python){ .program = PROGRAM, .first = 1, .end = PYTHON_END };
}

static void frame_add(uint64_t identity, int64_t instruction, uint64_t loop)
{
	const struct python_frame f = { .code = CODE, .identity = identity,
					.instruction = instruction, .loop = loop };

	memcpy(frames.data + frames.head.frames++ * 4, &f, sizeof(f));
}

/* … whose native frames have these stack pointers. */
static void frames_keep(const uint64_t *sp, uint32_t n)
{
	memcpy(frames.data + frames.head.frames * 4, sp, n * sizeof(*sp));
	frames.head.pointers = n;
	rec.n = (__u16)(sizeof(frames.head) / 8 + frames.head.frames * 4 + n);
	kept_record_add(kept, &rec, (const uint64_t *)&frames);
}

/* Native addresses are 1, 2, … */
static void merged_are(struct sample_python *s, unsigned int natives, const uint64_t *expected,
		       unsigned int n)
{
	uint64_t data[16];
	const uint64_t *is;

	for (unsigned int i = 0; i < natives; i++)
		data[i] = i + 1;
	sample = (struct abi_rec){ .kind = ABI_REC_SAMPLE, .time = 5, .pmc = 7, .tid = 9,
				   .cpu = 1, .n = (__u16)natives, .end = native_end };
	is = sample_python_merge(s, NULL, &sample, data, sample_python_frames(s, &sample));
	assert_int_equal(sample.n, n);
	assert_memory_equal(is, expected, n * sizeof(*is));
}
#define ARE(s, natives, ...) \
	merged_are(s, natives, (const uint64_t[]){ __VA_ARGS__ }, \
		   sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

static const uint64_t sps[] = { 1000, 1100, 1200, 1300 };

/* Frames are behind the native frame that has the address of their call. */
static void test_places(void **state)
{
	struct sample_python *s = sample_python_new(kept);

	frames_begin();
	frame_add(1, 0, 0);
	frame_add(1, 0, 1150);
	frame_add(1, 0, 1200);
	frames_keep(sps, 4);
	ARE(s, 5, 1, 2, 3, UNNAMED, UNNAMED, 4, UNNAMED, 5);
	/* Once. */
	ARE(s, 5, 1, 2, 3, 4, 5);
	/* Of another sample. */
	frames_keep(sps, 4);
	ARE(s, 4, 1, 2, 3, 4);
	/* A log for older readers. */
	frames_keep(sps, 4);
	old_format = true;
	ARE(s, 5, 1, 2, 3, 4, 5);
	old_format = false;
	sample_python_free(s);
}

static void test_missing(void **state)
{
	struct sample_python *s = sample_python_new(kept);

	/* The walk ended early: behind what it has found. */
	frames_begin();
	frame_add(1, 0, 1050);
	frame_add(1, 0, 0);
	frames.head.end = PYTHON_CUT_MEMORY;
	frames_keep(sps, 4);
	ARE(s, 5, 1, 2, UNNAMED, PMCLOG_PC_PYTHON, 3, 4, 5);
	/* It found a call in no native frame, or in the last one, whose end is not known. */
	for (uint64_t loop = 900; loop < 1500; loop += 450) {
		frames_begin();
		frame_add(1, 0, loop);
		frames_keep(sps, 4);
		ARE(s, 5, 1, 2, PMCLOG_PC_PYTHON, 3, 4, 5);
	}
	/* The native chain is cut before it. */
	frames_begin();
	frame_add(1, 0, 1350);
	frames_keep(sps, 4);
	native_end = UNWIND_CUT_DEPTH;
	ARE(s, 5, 1, 2, 3, 4, 5);
	native_end = UNWIND_WHOLE;
	/* Nothing of the user's side is there to put it behind. */
	frames_begin();
	frame_add(1, 0, 1050);
	frames.head.first = 5;
	frames_keep(sps, 0);
	ARE(s, 5, 1, 2, 3, 4, 5);
	sample_python_free(s);
}

/* --- code objects ----------------------------------------------------------------------------- */

static struct {
	struct abi_code c;
	uint8_t name[64], file[64], lines[64];
} code;

static int memory_copy(void *to, size_t size, uint64_t address)
{
	memcpy(to, code.name + (address - NAME), size);
	return 0;
}

static void text_make(uint8_t *to, const struct python_layout *l, const char *text)
{
	const uint64_t type = 0x2000, length = strlen(text);
	const uint32_t state = 1 << 2 | 1 << 5 | 1 << 6;	/* ASCII, behind a short head */

	memcpy(to + l->type, &type, 8);
	memcpy(to + l->text_length, &length, 8);
	memcpy(to + l->text_state, &state, 4);
	strcpy((char *)to + l->text_ascii, text);
}

/* def f() in line 7 of f.py, with one entry of lines: four instructions of the next line. */
static void code_make(void)
{
	static const uint8_t lines[] = { 0x80 | 11 << 3 | 3, 0, 0 };
	struct python_process *p = &code.c.process;
	const uint64_t bytes_type = 0x3000, nlines = sizeof(lines);

	memset(&code, 0, sizeof(code));
	*p = (struct python_process){ .code_type = 0x1000, .text_type = 0x2000,
				      .bytes_type = bytes_type };
	p->layout = (struct python_layout){
		.type = 8, .code_first_line = 72, .code_filename = 112, .code_qualname = 128,
		.code_lines = 136, .bytes_size = 16, .bytes_data = 32, .text_length = 16,
		.text_hash = 24, .text_state = 32, .text_ascii = 48, .text_other = 72,
	};
	code.c.word[1] = p->code_type;
	code.c.word[72 / 8] = 7;
	code.c.word[112 / 8] = FILE_AT;
	code.c.word[128 / 8] = NAME;
	code.c.word[136 / 8] = LINES;
	text_make(code.name, &p->layout, "f");
	text_make(code.file, &p->layout, "/f.py");
	memcpy(code.lines + 8, &bytes_type, 8);
	memcpy(code.lines + 16, &nlines, 8);
	memcpy(code.lines + 32, lines, sizeof(lines));
	code.c.block[ABI_CODE_NAME].address = NAME;
	code.c.block[ABI_CODE_FILE].address = FILE_AT;
	code.c.block[ABI_CODE_LINES].address = LINES;
	for (unsigned int i = 0; i < ABI_CODE_BLOCKS; i++)
		code.c.block[i].bytes = 64;
	code.c.program = PROGRAM;
	code.c.address = CODE;
	code.c.identity = python_code_identity(code.c.word, p, NULL);
}

static void code_keep(struct sample_python *s, size_t bytes)
{
	sample_python_code(s, (const uint64_t *)&code, bytes / 8);
}

static void test_names(void **state)
{
	struct sample_python *s = sample_python_new(kept);
	const uint64_t f = PMCLOG_PC_PYTHON | (uint64_t)PMCLOG_CODE_FIRST << PMCLOG_PC_CODE_SHIFT;

	code_make();
	code_keep(s, sizeof(code));
	/* Again is nothing new. */
	code_keep(s, sizeof(code));
	for (int i = 0; i < 2; i++) {
		frames_begin();
		frame_add(code.c.identity, 2, 1050);
		frame_add(code.c.identity, 100, 1150);
		frame_add(code.c.identity + 1, 2, 1250);
		frames_keep(sps, 4);
		ARE(s, 5, 1, 2, f | 8, 3, f, 4, UNNAMED, 5);
	}
	/* Of another program it has no name. */
	frames_begin();
	frame_add(code.c.identity, 2, 1050);
	frames.head.program++;
	frames_keep(sps, 4);
	ARE(s, 5, 1, 2, UNNAMED, 3, 4, 5);
	/* Once in the log. */
	assert_int_equal(nwritten, 1);
	assert_int_equal(written.pl_type, PMCLOG_TYPE_MAP_IN);
	assert_int_equal(written.pl_u.pl_mi.pl_pid, -1);
	assert_int_equal(written.pl_u.pl_mi.pl_start, f);
	assert_string_equal(written.pl_u.pl_mi.pl_pathname, "[python]f\t/f.py");
	sample_python_free(s);
}

/* Lines that are not in the record are not shown. */
static void test_no_lines(void **state)
{
	struct sample_python *s = sample_python_new(kept);
	const uint64_t f = PMCLOG_PC_PYTHON | (uint64_t)PMCLOG_CODE_FIRST << PMCLOG_PC_CODE_SHIFT;

	code_make();
	code.c.block[ABI_CODE_LINES].bytes = 32;
	code_keep(s, sizeof(code) - 32);
	frames_begin();
	frame_add(code.c.identity, 2, 1050);
	frames_keep(sps, 4);
	ARE(s, 5, 1, 2, f, 3, 4, 5);
	sample_python_free(s);
}

/* A word of a record after the other has another value, and the record every shorter length. */
static void test_damaged(void **state)
{
	static const uint64_t lies[] = { 0, 1, 0x7fffffffffffffff, ~0ull, 0x300000000 };
	struct sample_python *s = sample_python_new(kept);
	uint64_t *word = (uint64_t *)&code;

	code_make();
	for (size_t at = 0; at < sizeof(code) / 8; at++)
		for (unsigned int i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			const uint64_t was = word[at];

			word[at] = lies[i];
			code_keep(s, sizeof(code));
			word[at] = was;
		}
	for (size_t size = 0; size < sizeof(code); size += 8)
		code_keep(s, size);
	word = (uint64_t *)&frames;
	for (size_t at = 0; at < sizeof(frames.head) / 8; at++)
		for (unsigned int i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			frames_begin();
			frame_add(1, 0, 1050);
			word[at] = lies[i];
			rec.n = (__u16)(sizeof(frames.head) / 8 + 4);
			kept_record_add(kept, &rec, word);
			ARE(s, 5, 1, 2, 3, 4, 5);
		}
	rec.cpu = 2;
	frames_begin();
	frame_add(1, 0, 1050);
	frames_keep(sps, 4);
	rec.cpu = 1;
	sample_python_free(s);
}

/* Names that are used up are forgotten together, and numbers are not used again. */
static void test_forgotten(void **state)
{
	struct sample_python *s = sample_python_new(kept);
	uint64_t last = 0;

	code_make();
	for (unsigned int i = 0; i < 8193; i++) {
		code.c.program = i;
		code_keep(s, sizeof(code));
	}
	for (unsigned int i = 0; i < 8193; i += 8192) {
		uint64_t data[5] = { 1, 2, 3, 4, 5 };

		frames_begin();
		frame_add(code.c.identity, 2, 1050);
		frames.head.program = i;
		frames_keep(sps, 4);
		sample = rec;
		sample.kind = ABI_REC_SAMPLE;
		sample.n = 5;
		last = sample_python_merge(s, NULL, &sample, data,
					   sample_python_frames(s, &sample))[2];
		assert_true(i || last == UNNAMED);
	}
	assert_int_equal(PMCLOG_PC_TO_CODE(last), PMCLOG_CODE_FIRST + 8192);
	sample_python_free(s);
}

static int kept_new(void **state)
{
	kept = kept_records_new(2);
	return !kept;
}

static int kept_free(void **state)
{
	kept_records_free(kept);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places), cmocka_unit_test(test_missing),
		cmocka_unit_test(test_names), cmocka_unit_test(test_no_lines),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_forgotten),
	};

	return cmocka_run_group_tests(tests, kept_new, kept_free);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 3.11 and 3.12 do not describe themselves; their layouts have not changed since their first
 * releases.  From 3.13 on _PyRuntime begins with a description, which is constant data of the file.
 */
#include <errno.h>
#include <string.h>

#include "layout.h"

#define PYTHON_3_11 0x030bu
#define PYTHON_3_12 0x030cu
#define PYTHON_3_13 0x030du

/* Whether a frame without code is behind the last one of a call; its owner is the C stack. */
#define OWNER_C_STACK 3u

static const struct python_layout layout_3_11 = {
	.version = PYTHON_3_11,
	.interpreters = 40, .interpreter_next = 0, .interpreter_threads = 16,
	.thread_next = 8, .thread_interpreter = 16, .thread_id = 160, .thread_frame = 56,
	.loop_frame = 8, .loop_previous = 16,
	.frame_code = 32, .frame_previous = 48, .frame_instruction = 56,
	.frame_entry = 68, .entry_value = 1, .entry_has_code = 1,
	.type = 8,
	.code_first_line = 72, .code_filename = 112, .code_qualname = 128, .code_lines = 136,
	.code_bytes = 184,
	.bytes_size = 16, .bytes_data = 32,
	.text_length = 16, .text_hash = 24, .text_state = 32, .text_ascii = 48, .text_other = 72,
};

static const struct python_layout layout_3_12 = {
	.version = PYTHON_3_12,
	.interpreters = 40, .interpreter_next = 0, .interpreter_threads = 72,
	.thread_next = 8, .thread_interpreter = 16, .thread_id = 144, .thread_frame = 56,
	.loop_frame = 0, .loop_previous = 8,
	.frame_code = 0, .frame_previous = 8, .frame_instruction = 56,
	.frame_entry = 70, .entry_value = OWNER_C_STACK,
	.type = 8,
	.code_first_line = 68, .code_filename = 112, .code_qualname = 128, .code_lines = 136,
	.code_bytes = 192,
	.bytes_size = 16, .bytes_data = 32,
	.text_length = 16, .text_hash = 24, .text_state = 32, .text_ascii = 40, .text_other = 56,
};

/* Members of the description, in words. */
enum {
	WORD_COOKIE = 0, WORD_VERSION = 1, WORD_FREE_THREADED = 2, WORD_INTERPRETERS = 5,
	WORD_INTERPRETER_NEXT = 8, WORD_INTERPRETER_THREADS = 9,
	WORD_THREAD_NEXT = 21, WORD_THREAD_INTERPRETER = 22, WORD_THREAD_FRAME = 23,
	WORD_THREAD_ID = 25, WORD_FRAME_PREVIOUS = 29, WORD_FRAME_CODE = 30,
	WORD_FRAME_INSTRUCTION = 31, WORD_FRAME_OWNER = 33,
	WORD_CODE_FILENAME = 35, WORD_CODE_QUALNAME = 37, WORD_CODE_LINES = 38,
	WORD_CODE_FIRST_LINE = 39, WORD_CODE_BYTES = 43, WORD_TYPE = 45,
	WORD_BYTES_SIZE = 65, WORD_BYTES_DATA = 66,
	WORD_TEXT_STATE = 68, WORD_TEXT_LENGTH = 69, WORD_TEXT_ASCII = 70,
	WORD_LAST = WORD_TEXT_ASCII
};
_Static_assert(WORD_LAST < PYTHON_OFFSETS_WORDS, "room");

#define OFFSET_MAX (1u << 20)		/* of anything that is described */

/* Members that are words are read as such. */
static bool layout_is_word(uint32_t offset, uint32_t words)
{
	return offset % 8 == 0 && offset / 8 < words;
}

bool python_layout_check(const struct python_layout *l)
{
	return layout_is_word(l->frame_code, PYTHON_FRAME_WORDS) &&
	       layout_is_word(l->frame_previous, PYTHON_FRAME_WORDS) &&
	       layout_is_word(l->frame_instruction, PYTHON_FRAME_WORDS) &&
	       l->frame_entry / 8 < PYTHON_FRAME_WORDS &&
	       layout_is_word(l->type, PYTHON_CODE_WORDS) &&
	       layout_is_word(l->code_filename, PYTHON_CODE_WORDS) &&
	       layout_is_word(l->code_qualname, PYTHON_CODE_WORDS) &&
	       layout_is_word(l->code_lines, PYTHON_CODE_WORDS) && l->code_first_line % 4 == 0 &&
	       l->code_first_line / 8 < PYTHON_CODE_WORDS;
}

static int layout_read(struct python_layout *l, const uint64_t *word, struct reason *why)
{
	if (memcmp(&word[WORD_COOKIE], "xdebugpy", 8) != 0 ||
	    word[WORD_VERSION] >> 16 != PYTHON_3_13)
		return deny(why, -EBADMSG, "its interpreter does not describe itself");
	if (word[WORD_FREE_THREADED])
		return deny(why, -ENOTSUP, "its interpreter has no global lock");
	for (unsigned int i = WORD_INTERPRETERS; i <= WORD_LAST; i++)
		if (word[i] > OFFSET_MAX)
			return deny(why, -EBADMSG, "its description of the interpreter is damaged");
#define OF(which) (uint32_t)word[WORD_##which]
	*l = (struct python_layout){
		.version = PYTHON_3_13,
		.interpreters = OF(INTERPRETERS), .interpreter_next = OF(INTERPRETER_NEXT),
		.interpreter_threads = OF(INTERPRETER_THREADS),
		.thread_next = OF(THREAD_NEXT), .thread_interpreter = OF(THREAD_INTERPRETER),
		.thread_id = OF(THREAD_ID), .thread_frame = OF(THREAD_FRAME),
		.loop_frame = PYTHON_NONE, .loop_previous = PYTHON_NONE,
		.frame_code = OF(FRAME_CODE), .frame_previous = OF(FRAME_PREVIOUS),
		.frame_instruction = OF(FRAME_INSTRUCTION), .frame_entry = OF(FRAME_OWNER),
		.entry_value = OWNER_C_STACK,
		.type = OF(TYPE),
		.code_first_line = OF(CODE_FIRST_LINE), .code_filename = OF(CODE_FILENAME),
		.code_qualname = OF(CODE_QUALNAME), .code_lines = OF(CODE_LINES),
		.code_bytes = OF(CODE_BYTES),
		.bytes_size = OF(BYTES_SIZE), .bytes_data = OF(BYTES_DATA),
		.text_length = OF(TEXT_LENGTH), .text_hash = OF(TEXT_LENGTH) + 8,
		.text_state = OF(TEXT_STATE), .text_ascii = OF(TEXT_ASCII),
		/* Behind it: the length of an UTF-8 form, and its address. */
		.text_other = OF(TEXT_ASCII) + 16,
	};
#undef OF
	return python_layout_check(l) ? 0 : deny(why, -ENOTSUP, "its interpreter's frames have "
						"members at unusual places");
}

int python_layout_find(struct python_layout *l, uint64_t version, const uint64_t *words,
		       struct reason *why)
{
	switch (version >> 16) {
	case PYTHON_3_11: *l = layout_3_11; return 0;
	case PYTHON_3_12: *l = layout_3_12; return 0;
	case PYTHON_3_13: return layout_read(l, words, why);
	default:
		return deny(why, -ENOTSUP, "its interpreter is Python %u.%u, not 3.11 to 3.13",
			    (unsigned int)(version >> 24) & 0xff,
			    (unsigned int)(version >> 16) & 0xff);
	}
}

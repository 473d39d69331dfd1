/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads code objects: their names, and their tables of lines. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "python.h"

struct code_memory {
	const struct python_memory *m;
	const struct python_process *p;
};

static int memory_read(const struct code_memory *c, void *to, size_t size, uint64_t address)
{
	return c->m->read(c->m, to, size, address);
}

#define PYTHON_READ(arg, to, size, address) memory_read(arg, to, size, address)
#include "bpf/python/python.bpf.h"

/* --- text ------------------------------------------------------------------------------------- */

/* Bits of a text's state. */
#define STATE_KIND(state)    ((state) >> 2 & 7)	/* bytes of a character */
#define STATE_COMPACT(state) ((state) >> 5 & 1)	/* the characters are behind the object */
#define STATE_ASCII(state)   ((state) >> 6 & 1)

#define CHARACTER_BYTES 4u		/* of UTF-8, at most */

/*
 * A character in UTF-8; its bytes.  A name of a file that is no UTF-8 has characters that stand for
 * its bytes.  Neither of them may end or disturb a line of text.
 */
static unsigned int character_put(char *to, uint32_t c)
{
	if (c >= 0xdc80 && c <= 0xdcff) {
		to[0] = (char)(c - 0xdc00);
		return 1;
	}
	if (c < 0x20 || c == 0x7f || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = '?';
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static uint32_t character_at(const uint8_t *from, unsigned int kind, size_t n)
{
	uint32_t c = 0;

	memcpy(&c, from + n * kind, kind);	/* little-endian */
	return c;
}

/* The first one of the last characters that fit into so many bytes. */
static size_t text_first(const uint8_t *from, unsigned int kind, size_t n, size_t room)
{
	char utf8[CHARACTER_BYTES];

	while (n) {
		unsigned int size = character_put(utf8, character_at(from, kind, n - 1));

		if (size > room)
			break;
		room -= size;
		n--;
	}
	return n;
}

/* n characters; if there is no room for all, or some are missing before them, that is marked. */
static void text_encode(char *to, const uint8_t *from, unsigned int kind, size_t n, bool cut)
{
	static const char mark[] = "...";
	size_t first = text_first(from, kind, n, PYTHON_TEXT - 1);

	if (first || cut) {
		first = text_first(from, kind, n, PYTHON_TEXT - sizeof(mark));
		memcpy(to, mark, sizeof(mark) - 1);
		to += sizeof(mark) - 1;
	}
	for (; first < n; first++)
		to += character_put(to, character_at(from, kind, first));
	*to = '\0';
}

static int text_read(const struct code_memory *c, char *to, uint64_t address)
{
	const struct python_layout *l = &c->p->layout;
	uint64_t type, length, skipped = 0;
	uint32_t state, kind;
	uint8_t data[PYTHON_TEXT * 4];

	if (memory_read(c, &type, sizeof(type), address + l->type) ||
	    memory_read(c, &length, sizeof(length), address + l->text_length) ||
	    memory_read(c, &state, sizeof(state), address + l->text_state))
		return -EFAULT;
	kind = STATE_KIND(state);
	if (type != c->p->text_type || !STATE_COMPACT(state) || length > INT32_MAX ||
	    (kind != 1 && kind != 2 && kind != 4) || (STATE_ASCII(state) && kind != 1))
		return -ESTALE;
	address += STATE_ASCII(state) ? l->text_ascii : l->text_other;
	if (length > PYTHON_TEXT)
		skipped = length - PYTHON_TEXT;
	length -= skipped;
	if (length && memory_read(c, data, length * kind, address + skipped * kind))
		return -EFAULT;
	text_encode(to, data, kind, length, skipped);
	return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

/*
 * A table of lines has an entry for each piece of the code, in order.  Its first byte has bit 7
 * set, a form in bits 3 to 6, and in bits 0 to 2 the number of instructions, less one.  Line
 * numbers are differences to the entry before; columns follow, which are skipped.
 */
#define INSTRUCTION 2			/* bytes */

enum { FORM_SHORT_END = 10, FORM_LINE_END = 13, FORM_LONG = 14, FORM_NONE = 15 };

struct lines_cursor {
	const uint8_t *at, *end;
	bool bad;
};

static uint8_t lines_byte(struct lines_cursor *c)
{
	if (c->at < c->end)
		return *c->at++;
	c->bad = true;
	return 0;
}

/* 6 bits a byte, the lowest first; bit 6: there are more. */
static uint32_t lines_number(struct lines_cursor *c)
{
	uint32_t n = 0, byte, shift = 0;

	do {
		byte = lines_byte(c);
		if (shift > 24)
			c->bad = true;
		else
			n |= (byte & 0x3f) << shift;
		shift += 6;
	} while (byte & 0x40 && !c->bad);
	return n;
}

static int32_t lines_signed(struct lines_cursor *c)
{
	const uint32_t n = lines_number(c);

	return n & 1 ? -(int32_t)(n >> 1) : (int32_t)(n >> 1);
}

/* What an entry adds to the line; its columns are skipped. */
static int32_t lines_entry(struct lines_cursor *c, unsigned int form)
{
	int32_t add = 0;

	if (form < FORM_SHORT_END) {
		lines_byte(c);
	} else if (form < FORM_LINE_END) {
		add = (int32_t)form - FORM_SHORT_END;
		lines_byte(c);
		lines_byte(c);
	} else if (form != FORM_NONE) {
		add = lines_signed(c);
		for (int i = 0; form == FORM_LONG && i < 3; i++)
			lines_number(c);
	}
	return add;
}

uint32_t python_code_line(const struct python_code *c, int64_t instruction)
{
	struct lines_cursor at = { c->lines, c->lines + c->nlines, false };
	int64_t line = c->first_line, end = 0;

	if (instruction < 0)
		return c->first_line > 0 ? (uint32_t)c->first_line : 0;
	while (at.at < at.end && !at.bad) {
		const uint8_t first = lines_byte(&at);
		const unsigned int form = first >> 3 & 15;

		line += lines_entry(&at, form);
		end += ((first & 7) + 1) * INSTRUCTION;
		if (!(first & 0x80) || at.bad)
			return 0;
		if (instruction < end)
			return form == FORM_NONE || line <= 0 || line > INT32_MAX ? 0 :
										    (uint32_t)line;
	}
	return 0;
}

/* --- code objects ----------------------------------------------------------------------------- */

static uint64_t code_word(const __u64 *word, uint32_t offset)
{
	return word[offset / 8];
}

/* The object's parts as they are when it is read, and whether it is the one that is meant. */
static int code_words_read(const struct code_memory *c, __u64 *word, uint64_t address,
			   uint64_t identity)
{
	if (memory_read(c, word, PYTHON_CODE_WORDS * sizeof(*word), address))
		return -EFAULT;
	return python_code_identity(word, c->p, (void *)c) == identity ? 0 : -ESTALE;
}

static int code_lines_size(const struct code_memory *c, uint64_t address, uint64_t *size)
{
	const struct python_layout *l = &c->p->layout;
	uint64_t type;

	if (memory_read(c, &type, sizeof(type), address + l->type) ||
	    memory_read(c, size, sizeof(*size), address + l->bytes_size))
		return -EFAULT;
	if (type != c->p->bytes_type)
		return -ESTALE;
	return *size > PYTHON_LINES_MAX ? -E2BIG : 0;
}

static int code_fill(struct python_code *code, const struct code_memory *c, const __u64 *word)
{
	const struct python_layout *l = &c->p->layout;
	const uint64_t lines = code_word(word, l->code_lines);
	int err;

	memcpy(&code->first_line, (const char *)word + l->code_first_line,
	       sizeof(code->first_line));
	err = text_read(c, code->name, code_word(word, l->code_qualname));
	err = err ?: text_read(c, code->file, code_word(word, l->code_filename));
	/* Names are good without lines, which may be too many for the record. */
	if (!err && code->nlines &&
	    memory_read(c, code->lines, code->nlines, lines + l->bytes_data))
		code->nlines = 0;
	return err;
}

/* Without room for lines that were said to be there. */
static struct python_code *code_shrink(struct python_code *code)
{
	struct python_code *smaller = realloc(code, sizeof(*code));

	return smaller ? smaller : code;
}

int python_code_read(struct python_code **out, const struct python_process *p,
		     const struct python_memory *m, uint64_t address, uint64_t identity)
{
	const struct code_memory c = { m, p };
	__u64 word[PYTHON_WORDS];
	uint64_t size = 0;
	struct python_code *code = NULL;
	int err = code_words_read(&c, word, address, identity);

	err = err ?: code_lines_size(&c, code_word(word, p->layout.code_lines), &size);
	if (!err) {
		code = calloc(1, sizeof(*code) + size);
		err = code ? 0 : -ENOMEM;
	}
	if (!err) {
		code->identity = identity;
		code->nlines = (uint32_t)size;
		err = code_fill(code, &c, word);
	}
	/* The process runs meanwhile. */
	err = err ?: code_words_read(&c, word, address, identity);
	if (err) {
		free(code);
		code = NULL;
	}
	*out = code && !code->nlines ? code_shrink(code) : code;
	return err;
}

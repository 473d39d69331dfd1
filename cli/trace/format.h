/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The formats of trace points.  They come from untrusted programs and are never passed to
 * printf(3): a format is compiled once into a short list of operations, which then produce each
 * line.
 */
#ifndef PMCBPF_CLI_TRACE_FORMAT_H
#define PMCBPF_CLI_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FORMAT_WORDS  5u	/* parameters of an entry */
#define FORMAT_MOST   6u	/* … of a CTR6, which has two entries */
#define FORMAT_TEXT   1024u	/* longest prefix of a format that is compiled */
#define FORMAT_STRING 79u	/* … of a string */
#define FORMAT_WIDTH  128u	/* widest field */
/* The longest line: each byte of a text takes up to four (\x1b). */
#define FORMAT_ROOM   (4 * FORMAT_TEXT + FORMAT_MOST * (4 * FORMAT_STRING + FORMAT_WIDTH + 32))

struct format_op {
	char kind;		/* 'd' 'u' 'x' 'X' 'o' 'p' 'c' 's' 'f', 'T' two words of text, 0 */
	uint8_t flags;		/* FORMAT_… */
	uint8_t word;		/* index of the first parameter it takes */
	uint8_t type;		/* enum ktr_argtype */
	uint8_t width;
	bool star;		/* the width is the parameter before */
	bool plain;		/* neither width nor flags */
	uint16_t from, len;	/* kind 0: text to copy, already escaped */
};

struct trace_format {
	struct format_op *ops;
	char *text;
	unsigned int nops;
	unsigned int words;	/* parameters that it takes */
	bool excess;		/* conversions beyond the last parameter are printed as they are */
};

/*
 * Compiles for so many parameters.  0 or -ENOMEM.  Any text is a format: unknown conversions are
 * text.
 */
int format_compile(struct trace_format *format, const char *text, uint32_t argtypes,
		   unsigned int words);
void format_free(struct trace_format *format);

/* Fetches the string at an address for %s: its length, FORMAT_STRING at most, or -1. */
struct format_strings {
	int (*fetch)(void *arg, uint64_t address, char *to);
	void *arg;
};

/* Writes the line of an entry, at most FORMAT_ROOM bytes, without a NUL.  Returns its end. */
char *format_line(const struct trace_format *format, const uint64_t *words,
		  const struct format_strings *strings, char *to);

/* Copies `len` bytes, escaped for a terminal: at most 4 * len bytes.  Returns the end. */
char *format_visible(char *to, const char *text, size_t len);

/*
 * Eight hexadecimal digits at once, in memory order: nibbles are spread over bytes, and those above
 * 9 are moved up to the letters.
 */
static inline uint64_t format_hex8(uint32_t value)
{
	uint64_t x = value, letters;

	x = (x << 16 & 0xffff00000000) | (x & 0xffff);
	x = (x << 8 | x) & 0x00ff00ff00ff00ff;
	x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0f;
	letters = ((x + 0x0606060606060606) >> 4 & 0x0101010101010101) * ('a' - '0' - 10);
	return __builtin_bswap64(x + 0x3030303030303030 + letters);
}
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "format_hex8() is for this order");

/* Writes a number in hexadecimal; there is room for 8 digits more.  Returns the end. */
static inline char *format_hex(char *to, uint64_t value)
{
	uint64_t digits;
	unsigned int n;

	if (value > UINT32_MAX) {
		to = format_hex(to, value >> 32);
		digits = format_hex8((uint32_t)value);
		n = 8;
	} else {
		n = (35u - (unsigned int)__builtin_clz((uint32_t)value | 1)) / 4;
		digits = format_hex8((uint32_t)value) >> (64 - 8 * n);
	}
	__builtin_memcpy(to, &digits, sizeof(digits));
	return to + n;
}

#endif

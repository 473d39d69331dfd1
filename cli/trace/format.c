/* SPDX-License-Identifier: BSD-2-Clause */
/* Formats of trace points, compiled and run: see format.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sys/ktr_region.h>

#include "format.h"

#define FORMAT_OPS (2 * FORMAT_MOST + 1)	/* every conversion, and the text around each */

enum { FORMAT_ZERO = 1, FORMAT_LEFT = 2, FORMAT_ALT = 4, FORMAT_PLUS = 8, FORMAT_SPACE = 16 };

/* The state of compiling a format. */
struct compiler {
	struct trace_format *format;
	struct format_op ops[FORMAT_OPS];
	char text[4 * FORMAT_TEXT];
	unsigned int len;
	unsigned int parameter;	/* index of the next parameter; a text takes two words */
	uint32_t argtypes;
	unsigned int words;	/* available parameters */
};

static void format_add_literal(struct compiler *c, const char *text, size_t len)
{
	struct trace_format *f = c->format;
	struct format_op *last = f->nops ? &c->ops[f->nops - 1] : NULL;

	if (len == 0)
		return;
	if (!last || last->kind) {
		last = &c->ops[f->nops++];
		*last = (struct format_op){ .from = (uint16_t)c->len };
	}
	len = (size_t)(format_visible(c->text + c->len, text, len) - (c->text + c->len));
	c->len += (unsigned int)len;
	last->len = (uint16_t)(last->len + len);
}

static unsigned int flag_parse(char c)
{
	switch (c) {
	case '0':
		return FORMAT_ZERO;
	case '-':
		return FORMAT_LEFT;
	case '#':
		return FORMAT_ALT;
	case '+':
		return FORMAT_PLUS;
	case ' ':
		return FORMAT_SPACE;
	default:
		return 0;
	}
}

static char conversion_kind(char c)
{
	switch (c) {
	case 'd':
	case 'i':
		return 'd';
	case 'u':
	case 'x':
	case 'X':
	case 'o':
	case 'p':
	case 'c':
	case 's':
		return c;
	case 'e': case 'E': case 'f': case 'F': case 'g': case 'G': case 'a': case 'A':
		return 'f';
	default:
		return 0;
	}
}

static const char *digits_parse(const char *p, unsigned int *number)
{
	*number = 0;
	for (; *p >= '0' && *p <= '9'; p++)
		if (*number <= FORMAT_WIDTH)
			*number = *number * 10 + (unsigned int)(*p - '0');
	return p;
}

/* Parses flags, width, precision and length (the last two are ignored).  Returns the rest. */
static const char *modifiers_parse(const char *p, struct format_op *op, bool *precise)
{
	unsigned int flag, number;

	for (; (flag = flag_parse(*p)) != 0; p++)
		op->flags = (uint8_t)(op->flags | flag);
	if (*p == '*') {
		op->star = true;
		p++;
	} else {
		p = digits_parse(p, &number);
		op->width = (uint8_t)(number < FORMAT_WIDTH ? number : FORMAT_WIDTH);
	}
	*precise = false;
	if (*p == '.') {
		*precise = *++p == '*';
		p = *precise ? p + 1 : digits_parse(p, &number);
	}
	return p + strspn(p, "hlLjztq");
}

/* Compiles the conversion after a '%'.  Returns the rest of the format, NULL: not supported. */
static const char *format_add_conversion(struct compiler *c, const char *p)
{
	struct trace_format *f = c->format;
	struct format_op op = { 0 };
	unsigned int need, stars;
	bool precise;

	p = modifiers_parse(p, &op, &precise);
	op.kind = conversion_kind(*p);
	if (!op.kind)
		return NULL;
	stars = (unsigned int)op.star + precise;
	/* A '*' takes a parameter, too. */
	op.type = c->parameter + stars < 8 ?
		(uint8_t)KTR_ARGTYPE(c->argtypes, c->parameter + stars) : KTR_ARG_WORD;
	if (op.kind == 's' && op.type == KTR_ARG_TEXT)
		op.kind = 'T';
	else if (op.kind != 's' && op.type == KTR_ARG_FP)
		op.kind = 'f';
	need = stars + (op.kind == 'T' ? 2 : 1);
	if (f->words + need > c->words) {
		f->excess = true;
		return NULL;
	}
	op.word = (uint8_t)(f->words + stars);
	if (op.star)
		op.from = (uint16_t)f->words;
	f->words += need;
	c->parameter += stars + 1;
	op.plain = !op.width && !op.flags && !op.star;
	c->ops[f->nops++] = op;
	return p + 1;
}

static void format_add(struct compiler *c, const char *text)
{
	const char *end = text + strnlen(text, FORMAT_TEXT);
	char copy[FORMAT_TEXT + 1];
	const char *p = copy, *percent, *behind;

	/* A newline: an entry is one line anyway. */
	if (end > text && end[-1] == '\n')
		end--;
	memcpy(copy, text, (size_t)(end - text));
	copy[end - text] = '\0';
	while ((percent = strchr(p, '%'))) {
		format_add_literal(c, p, (size_t)(percent - p));
		behind = percent[1] == '%' ? NULL : format_add_conversion(c, percent + 1);
		if (behind) {
			p = behind;
			continue;
		}
		format_add_literal(c, percent, 1);
		p = percent + 1 + (percent[1] == '%');
	}
	format_add_literal(c, p, strlen(p));
}

int format_compile(struct trace_format *format, const char *text, uint32_t argtypes,
		   unsigned int words)
{
	struct compiler c = { .format = format, .argtypes = argtypes, .words = words };
	size_t size;

	*format = (struct trace_format){ 0 };
	format_add(&c, text);
	size = format->nops * sizeof(c.ops[0]);
	format->ops = malloc(size + c.len + 16);
	if (!format->ops)
		return -ENOMEM;
	memcpy(format->ops, c.ops, size);
	format->text = (char *)format->ops + size;
	memcpy(format->text, c.text, c.len);
	memset(format->text + c.len, 0, 16);
	return 0;
}

void format_free(struct trace_format *format)
{
	free(format->ops);
	*format = (struct trace_format){ 0 };
}

/* Length of the UTF-8 sequence of a printable character beyond ASCII, 0 if there is none. */
static size_t line_wide_char(const unsigned char *s, size_t len)
{
	size_t n = s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t code = s[0] & (0x7fu >> n);

	if (s[0] < 0xc2 || s[0] >= 0xf5 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	/* C1 controls, and marks that change the direction of text. */
	if (code < 0xa0 || (n == 3 && code < 0x800) || (n == 4 && code < 0x10000) ||
	    code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
	    (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
		return 0;
	return n;
}

static char *line_escape(char *to, unsigned char c)
{
	static const char known[] = "\a\b\t\n\v\f\r", letters[] = "abtnvfr";
	const char *at = c ? strchr(known, c) : NULL;

	*to++ = '\\';
	if (at) {
		*to++ = letters[at - known];
		return to;
	}
	*to++ = 'x';
	*to++ = "0123456789abcdef"[c >> 4];
	*to++ = "0123456789abcdef"[c & 15];
	return to;
}

char *format_visible(char *to, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len;

	while (s < end) {
		size_t n;

		if (*s >= ' ' && *s < 0x7f) {
			*to++ = (char)*s++;
			continue;
		}
		n = *s < 0x80 ? 0 : line_wide_char(s, (size_t)(end - s));
		if (n == 0) {
			to = line_escape(to, *s++);
			continue;
		}
		memcpy(to, s, n);
		to += n;
		s += n;
	}
	return to;
}

/* A parameter as C would print it: the word cut to its declared type, then promoted. */
static uint64_t word_value(uint64_t word, unsigned int type, bool is_signed)
{
	switch (type) {
	case KTR_ARG_S8:
		word = (uint64_t)(int8_t)word;
		break;
	case KTR_ARG_U8:
		return (uint8_t)word;
	case KTR_ARG_S16:
		word = (uint64_t)(int16_t)word;
		break;
	case KTR_ARG_U16:
		return (uint16_t)word;
	case KTR_ARG_S32:
	case KTR_ARG_U32:
		break;
	default:
		return word;
	}
	return is_signed ? (uint64_t)(int32_t)word : (uint32_t)word;
}

static char *line_fill(char *to, char c, size_t n)
{
	memset(to, c, n);
	return to + n;
}

/* A sign or 0x, the digits, and blanks or zeros up to the width. */
static char *line_padded(char *to, const struct format_op *op, unsigned int width, bool left,
			 const char *prefix, const char *digits, size_t len)
{
	size_t before = strlen(prefix);
	size_t pad = width > before + len ? width - before - len : 0;
	bool zero = (op->flags & FORMAT_ZERO) && !left;

	if (!left && !zero)
		to = line_fill(to, ' ', pad);
	to = stpcpy(to, prefix);
	if (zero)
		to = line_fill(to, '0', pad);
	memcpy(to, digits, len);
	to += len;
	return left ? line_fill(to, ' ', pad) : to;
}

/* The base is a constant at each call, so that the compiler removes the division. */
static inline __attribute__((always_inline)) char *base_digits(char *end, uint64_t value,
							       unsigned int base, bool capital)
{
	const char *letters = capital ? "0123456789ABCDEF" : "0123456789abcdef";

	do
		*--end = letters[value % base];
	while (value /= base);
	return end;
}

static char *line_number(char *to, const struct format_op *op, const uint64_t *words)
{
	uint64_t value = word_value(words[op->word], op->type, op->kind == 'd');
	unsigned int width = op->width;
	bool left = op->flags & FORMAT_LEFT;
	char digits[24], *end = digits + sizeof(digits), *first;
	const char *prefix = "";

	if (op->star) {
		int32_t star = (int32_t)words[op->from];

		left |= star < 0;
		width = star < 0 ? -(uint32_t)star : (uint32_t)star;
		if (width > FORMAT_WIDTH)
			width = FORMAT_WIDTH;
	}
	switch (op->kind) {
	case 'd':
		prefix = (int64_t)value < 0 ? "-" : op->flags & FORMAT_PLUS ? "+" :
			op->flags & FORMAT_SPACE ? " " : "";
		value = (int64_t)value < 0 ? -value : value;
		first = base_digits(end, value, 10, false);
		break;
	case 'u':
		first = base_digits(end, value, 10, false);
		break;
	case 'o':
		prefix = op->flags & FORMAT_ALT && value ? "0" : "";
		first = base_digits(end, value, 8, false);
		break;
	default:
		if (op->kind == 'p')
			prefix = "0x";
		else if (op->flags & FORMAT_ALT && value)
			prefix = op->kind == 'X' ? "0X" : "0x";
		first = base_digits(end, value, 16, op->kind == 'X');
	}
	return line_padded(to, op, width, left, prefix, first, (size_t)(end - first));
}

/* Without width and flags, as most numbers are. */
static char *line_decimal(char *to, uint64_t value, bool negative)
{
	char digits[48], *first;

	if (negative)
		*to++ = '-';
	if (value < 10) {
		*to = (char)('0' + value);
		return to + 1;
	}
	/* At most 20 digits; a constant number of bytes is copied. */
	first = base_digits(digits + 24, value, 10, false);
	memcpy(to, first, 20);
	return to + (digits + 24 - first);
}

static char *line_string(char *to, uint64_t address, const struct format_strings *strings)
{
	char text[FORMAT_STRING + 1];
	int len = strings->fetch(strings->arg, address, text);

	return len < 0 ? stpcpy(to, "(null)") : format_visible(to, text, (size_t)len);
}

static char *line_conversion(char *to, const struct format_op *op, const uint64_t *words,
			     const struct format_strings *strings)
{
	char c = (char)words[op->word];
	uint64_t value;

	switch (op->kind) {
	case 'd':
	case 'u':
		if (!op->plain)
			return line_number(to, op, words);
		value = word_value(words[op->word], op->type, op->kind == 'd');
		if (op->kind == 'd' && (int64_t)value < 0)
			return line_decimal(to, -value, true);
		return line_decimal(to, value, false);
	case 'x':
		if (!op->plain)
			return line_number(to, op, words);
		return format_hex(to, word_value(words[op->word], op->type, false));
	case 's':
		return line_string(to, words[op->word], strings);
	case 'T':
		return format_visible(to, (const char *)&words[op->word],
				      strnlen((const char *)&words[op->word], 2 * sizeof(*words)));
	case 'c':
		return format_visible(to, &c, 1);
	case 'f':
		return stpcpy(to, "<fp?>");
	default:
		return line_number(to, op, words);
	}
}

/* Texts are short and there is room behind them, so whole words are copied. */
static inline char *line_copy(char *to, const char *text, size_t len)
{
	for (size_t at = 0; at < len; at += 16)
		memcpy(to + at, text + at, 16);
	return to + len;
}

char *format_line(const struct trace_format *format, const uint64_t *words,
		  const struct format_strings *strings, char *to)
{
	for (unsigned int i = 0; i < format->nops; i++) {
		const struct format_op *op = &format->ops[i];

		if (op->kind)
			to = line_conversion(to, op, words, strings);
		else
			to = line_copy(to, format->text + op->from, op->len);
	}
	return to;
}

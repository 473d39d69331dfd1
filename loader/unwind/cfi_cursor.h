/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads numbers from memory that others have written.  A read behind the end returns 0, and this
 * and all later reads mark the cursor as bad: callers check it once, after a sequence of reads.
 */
#ifndef PMCBPF_UNWIND_CFI_CURSOR_H
#define PMCBPF_UNWIND_CFI_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cfi_cursor {
	const uint8_t *at, *end;
	bool bad;
};

static inline size_t cfi_left(const struct cfi_cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* The next `n` bytes, or NULL. */
static inline const uint8_t *cfi_bytes(struct cfi_cursor *c, uint64_t n)
{
	const uint8_t *p = c->at;

	if (n > cfi_left(c)) {
		c->bad = true;
		c->at = c->end;
		return NULL;
	}
	c->at += n;
	return p;
}

/* A little-endian number of n <= 8 bytes. */
static inline uint64_t cfi_number(struct cfi_cursor *c, size_t n)
{
	const uint8_t *p = cfi_bytes(c, n);
	uint64_t value = 0;

	if (p)
		memcpy(&value, p, n);
	return value;
}

/* … with a sign. */
static inline int64_t cfi_signed(struct cfi_cursor *c, size_t n)
{
	const unsigned int shift = 64 - 8 * (unsigned int)n;

	return (int64_t)(cfi_number(c, n) << shift) >> shift;
}

static inline uint8_t cfi_u8(struct cfi_cursor *c)
{
	return (uint8_t)cfi_number(c, 1);
}

/* The bits of a LEB128 number; *bits: how many there are. */
static inline uint64_t cfi_leb(struct cfi_cursor *c, unsigned int *bits)
{
	uint64_t value = 0;
	uint8_t byte;

	*bits = 0;
	do {
		byte = cfi_u8(c);
		if (*bits >= 64) {
			c->bad = true;
			return 0;
		}
		value |= (uint64_t)(byte & 0x7f) << *bits;
		*bits += 7;
	} while (byte & 0x80);
	return value;
}

static inline uint64_t cfi_uleb(struct cfi_cursor *c)
{
	unsigned int unused;

	return cfi_leb(c, &unused);
}

static inline int64_t cfi_sleb(struct cfi_cursor *c)
{
	unsigned int bits;
	uint64_t value = cfi_leb(c, &bits);

	if (bits && bits < 64 && value >> (bits - 1) & 1)
		value |= ~0ull << bits;
	return (int64_t)value;
}

/* A block that begins with its length; it is empty if there is none. */
static inline struct cfi_cursor cfi_block(struct cfi_cursor *c)
{
	uint64_t n = cfi_uleb(c);
	const uint8_t *p = cfi_bytes(c, n);

	return (struct cfi_cursor){ p ? p : c->end, p ? p + n : c->end, !p };
}

#endif

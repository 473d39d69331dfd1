/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text that grows by appending, in allocated memory or in the caller's.
 *
 * A growing buffer begins as zeroes.  If memory runs out, `failed` stays set: check it when the
 * text is used.  A fixed buffer works as snprintf(3): `len` also counts bytes that did not fit.
 */
#ifndef PMCBPF_BASE_BUF_H
#define PMCBPF_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data;
	size_t len;
	size_t size;
	bool failed;
	bool fixed;
};

#define BUF_FIXED(memory, bytes) { .data = (memory), .size = (bytes), .fixed = true }

void buf_add(struct buf *buf, const char *data, size_t len);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the text of a fixed buffer with a NUL; returns its length, as snprintf(3) does. */
size_t buf_end(struct buf *buf);

/* Drops the first `len` bytes. */
void buf_skip(struct buf *buf, size_t len);
/* Not for a fixed buffer. */
void buf_free(struct buf *buf);

/* Bytes as hexadecimal digits: `room` has two for each, and a NUL. */
const char *buf_hex(const uint8_t *bytes, size_t len, char *room);

#endif

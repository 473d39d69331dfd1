/* SPDX-License-Identifier: BSD-2-Clause */
/* Text that grows.  Running out of memory sticks: `failed` is looked at when the text is used. */
#ifndef PMCBPF_CLI_BUF_H
#define PMCBPF_CLI_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data;
	size_t len;
	size_t size;
	bool failed;
};

void buf_add(struct buf *buf, const char *data, size_t len);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Drops the first `len` bytes. */
void buf_skip(struct buf *buf, size_t len);
void buf_free(struct buf *buf);

/* Bytes as hexadecimal digits: `room` has two for each, and a NUL. */
const char *hex_text(const uint8_t *bytes, size_t len, char *room);

#endif

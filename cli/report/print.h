/* SPDX-License-Identifier: BSD-2-Clause */
/* Untrusted names in text for people: a name in a log or of a file may hold any bytes. */
#ifndef PMCBPF_CLI_REPORT_PRINT_H
#define PMCBPF_CLI_REPORT_PRINT_H

#include <stdint.h>

#include "lib/base/buf.h"

/* Appends the text without control characters; returns its columns, a character each. */
unsigned int print_text(struct buf *out, const char *text);

/* … in exactly `width` columns: blanks behind it, or its end cut off for a ".". */
void print_column(struct buf *out, const char *text, unsigned int width);

/* Appends text as XML and HTML quote it. */
void print_markup(struct buf *out, const char *text, size_t len);

/* Columns of a text. */
unsigned int print_columns(const char *text);

/* Share in percent; 0 of 0 is 0. */
static inline double percent(uint64_t part, uint64_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

#endif

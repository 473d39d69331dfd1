/* SPDX-License-Identifier: BSD-2-Clause */
/* A text built piece by piece in a buffer, cut to its size. */
#ifndef PMCBPF_TEXT_H
#define PMCBPF_TEXT_H

#include <stddef.h>

struct text {
	char *at;			/* ends with a NUL */
	size_t size, used;		/* used: without the NUL */
};

/* An empty text in the buffer. */
struct text text_begin(char *buf, size_t size);

void text_add(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Recognises the bytes of a name or path that are text; for writers of JSON. */
#ifndef PMCBPF_UTF8_H
#define PMCBPF_UTF8_H

#include <stddef.h>

/* Bytes of the UTF-8 sequence at `s`, 0 if it is none (overlong forms and surrogates are none). */
size_t utf8_length(const unsigned char *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a filter is wrong, from what the kernel writes below it.  Pure text. */
#ifndef PMCBPF_FILTER_PLACE_H
#define PMCBPF_FILTER_PLACE_H

#include <stddef.h>

/* The index that the message is about; `caret`: the blanks before the kernel's "^". */
size_t filter_place(const char *filter, size_t caret, const char *message);

#endif

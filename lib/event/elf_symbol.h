/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions in ELF files, and their places there. */
#ifndef PMCBPF_EVENT_ELF_SYMBOL_H
#define PMCBPF_EVENT_ELF_SYMBOL_H

#include <stdint.h>

#include "lib/base/reason.h"

/*
 * Finds the file offset of a function, by its name or, as "0x1139", by its address in the file,
 * `plus` bytes behind its beginning.  -EINVAL with the reason: there is none, or more than one.
 */
int elf_symbol_find(int fd, const char *path, const char *symbol, uint64_t plus, uint64_t *offset,
		    struct reason *why);

#endif

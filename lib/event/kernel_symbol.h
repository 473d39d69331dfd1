/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's symbols, for breakpoints: addresses as this process may see them. */
#ifndef PMCBPF_EVENT_KERNEL_SYMBOL_H
#define PMCBPF_EVENT_KERNEL_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/reason.h"

/* The address of a symbol; *code: it is a function.  -EINVAL: none, several, or hidden. */
int kernel_symbol_find(const char *name, uint64_t *address, bool *code, struct reason *why);

#endif

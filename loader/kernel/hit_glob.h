/* SPDX-License-Identifier: BSD-2-Clause */
/* Patterns of filters, for programs that sample hits: those that are more than a text and "*". */
#ifndef PMCBPF_HIT_GLOB_H
#define PMCBPF_HIT_GLOB_H

#include <stdint.h>

#include "bpf/count/filter_abi.h"

/*
 * Compiles a pattern into *g, which is zeroed, and counts its places in *length, which is 0 before.
 * -EOPNOTSUPP, -EINVAL: *what says why not.
 */
int hit_glob_compile(const char *pattern, struct abi_glob *g, uint16_t *length, const char **what);

#endif

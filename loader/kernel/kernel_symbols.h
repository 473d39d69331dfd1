/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's functions by address, as the kernel itself finds them: about a microsecond each. */
#ifndef PMCBPF_KERNEL_SYMBOLS_H
#define PMCBPF_KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/log/log_abi.h"

struct engine;

struct kernel_symbol {
	uint64_t start;			/* 0: it has no name here */
	uint64_t size;			/* bytes */
	char name[ABI_SYMBOL_TEXT];	/* "schedule", "[nf_tables]nft_do_chain" */
};

/*
 * Finds the functions of at most ABI_SYMBOLS addresses.  What only /proc/kallsyms names has no name
 * here: dispatchers, trampolines of struct_ops, slots of kprobes.  -errno: the kernel did not run
 * the program.
 */
int kernel_symbols_find(const struct engine *e, const uint64_t *address, size_t n,
			struct kernel_symbol *found);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's functions, as the kernel itself finds them: by address in about a microsecond; by
 * name Linux 6.1 looks at all names, in some milliseconds.
 */
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

/*
 * Finds the function of that name, or around the address that a number is.  -ENOENT: there is none;
 * -EPERM: the kernel hides its addresses.
 */
int kernel_symbols_function(const struct engine *e, const char *text, struct kernel_symbol *found);

#endif

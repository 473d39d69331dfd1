/* SPDX-License-Identifier: BSD-2-Clause */
/* Goes on with walks that came to a file without a table, over copies of their stacks. */
#ifndef PMCBPF_STACK_WALK_H
#define PMCBPF_STACK_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/log/log_abi.h"

struct unwinder;

/* Words of a record as long as the programs write it. */
#define STACK_WALK_WORDS                                                                       \
	((sizeof(struct abi_stack) + UNWIND_MAPPINGS * sizeof(struct unwind_mapping) +         \
	  (ABI_STACK_PAGES + 1) * 4096) / 8)
/* Addresses of a chain: those of the kernel's side, the user's, and one more. */
#define STACK_WALK_CHAIN (2 * ABI_CHAIN_MAX + 1)

/* Are the parts of a record of so many words where it says? */
bool stack_walk_check(const struct abi_stack *s, size_t words);

/*
 * Puts callers behind the n addresses of `to`, which has STACK_WALK_CHAIN.  If `sp` is not NULL,
 * sp[0] becomes the stack pointer of the n-th address, and sp[1] … become those of the callers.
 * Sets *pointers if frame pointers led to some.  False: a table is still being built; *s is where
 * the walk goes on.
 */
struct stack_walk {
	struct abi_stack *s;		/* and what is behind it */
	uint64_t *to, *sp;
	unsigned int n;
	enum unwind_cut end;
	bool pointers;
};
bool stack_walk_go(const struct unwinder *u, struct stack_walk *w);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The places and stacks of a profile, by number, and a cache of the addresses that led to them.
 * These tables grow with the code that ran, not with the number of samples.
 *
 * Addresses of user space are resolved at once.  A kernel address gets a place at once, but its
 * image only in places_settle(): the log names the kernel's functions after their first sample.
 */
#ifndef PMCBPF_CLI_PROFILE_PLACES_H
#define PMCBPF_CLI_PROFILE_PLACES_H

#include "lib/base/index.h"
#include "profile.h"

struct places {
	struct index places, stacks, pcs, kernel;
	size_t places_size, stacks_size;
	struct pc *pc;
	size_t npcs, pcs_size;
	struct pc *kernel_pc;		/* for places_settle() */
	size_t nkernel, kernel_size;
};

/* Adds stacks[0], STACK_NONE.  0 or -ENOMEM. */
int places_begin(struct profile *p, struct places *t);
void places_free(struct places *t);

/* The stack of address `n` of the sample, called from `stack`.  INDEX_NONE: no memory. */
uint32_t places_deepen(struct profile *p, struct places *t, const struct walk_sample *s, size_t n,
		       uint32_t stack);
/* The stack of the callers that are missing, by the end of the chain.  INDEX_NONE: no memory. */
uint32_t places_cut(struct profile *p, struct places *t, uint32_t end, uint32_t stack);
/* Prefetches for a search for address `i`. */
void places_expect(const struct places *t, const struct walk_sample *s, size_t i);

/* Finds the images of kernel addresses. */
void places_settle(struct profile *p, const struct places *t);
/* Another log begins: forgets kernel addresses. */
void places_forget(struct places *t);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a profile grows with the code that ran and not with its samples: places and stacks, and
 * the addresses that have led to them.
 */
#ifndef PMCBPF_CLI_PROFILE_PLACES_H
#define PMCBPF_CLI_PROFILE_PLACES_H

#include "index.h"
#include "profile.h"

struct places {
	struct index places, stacks, pcs, kernel;
	size_t places_size, stacks_size;
	struct pc *pc;
	size_t npcs, pcs_size;
	struct pc *kernel_pc;		/* their places are settled later */
	size_t nkernel, kernel_size;
};

/* The stack that is none.  0 or -ENOMEM. */
int places_begin(struct profile *p, struct places *t);
void places_free(struct places *t);

/* The stack of address `n`, called from the one that is given.  INDEX_NONE: no memory. */
uint32_t places_deepen(struct profile *p, struct places *t, const struct walk_sample *s, size_t n,
		       uint32_t stack);
/* Address `i` will be looked for soon. */
void places_expect(const struct places *t, const struct walk_sample *s, size_t i);

/* Addresses of the kernel get their images. */
void places_settle(struct profile *p, const struct places *t);
/* They mean other things from now on. */
void places_forget(struct places *t);

#endif

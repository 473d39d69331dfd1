/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of a profile: a list with shares, and call trees, from the sampled function out to
 * its callers (-G, the live view) or from the outermost caller inwards (flame graphs).
 */
#ifndef PMCBPF_CLI_PROFILE_TREE_H
#define PMCBPF_CLI_PROFILE_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct symbol;

#define TREE_ANY UINT32_MAX	/* every event, every process */

enum tree_order { TREE_CALLERS, TREE_CALLEES };

struct tree_select {
	uint32_t event, process;	/* TREE_ANY or a number; events of one name are one */
	bool apart;			/* … unless each is shown alone */
	bool inlines;			/* frames of inlined functions are nodes of their own */
	unsigned int depth;		/* at most so many levels; 0: all */
};

struct tree_node {
	const struct symbol *symbol;	/* NULL: the root of all */
	uint64_t total;			/* samples in it and below it */
	uint64_t self;			/* CALLEES: sampled in it; CALLERS: its chain ends here */
	struct tree_node **child;	/* most samples first; equal ones by name */
	size_t nchild;
};

/* NULL: no memory.  Freed as a whole. */
struct tree_node *tree_build(const struct profile *p, const struct tree_select *select,
			     enum tree_order order);
void tree_free(struct tree_node *root);

/* A function's samples: `self` sampled in it, `total` with it anywhere in the chain, once each. */
struct tree_function {
	const struct symbol *symbol;
	uint64_t self, total;
};

/* Most `self` first, then most `total`, then by name.  -ENOMEM or 0; *list is the caller's. */
int tree_functions(const struct profile *p, const struct tree_select *select,
		   struct tree_function **list, size_t *n);

#endif

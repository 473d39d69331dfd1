/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks merged into a tree, as flame graphs show them: one node for all processes of a name, below
 * it their outermost functions, and so on, inlined functions included.
 */
#ifndef PMCBPF_CLI_REPORT_FOLD_H
#define PMCBPF_CLI_REPORT_FOLD_H

#include "frames.h"

#define FOLD_ROOT 0u	/* the root of all nodes; as a link: none */

struct fold {
	const char *name;		/* name of an event or process; NULL: use the symbol's */
	const struct symbol *symbol;
	uint64_t self, total;
	uint32_t parent, child, next;	/* children in the order of their names */
	uint32_t depth;
	enum kind kind;
};

struct folds {
	struct fold *nodes;		/* a parent comes before its children */
	size_t n, room;
};

/* 0 or -ENOMEM.  With several events, the first level is theirs. */
int folds_build(struct folds *f, const struct report *r);
void folds_free(struct folds *f);

/* The name of a node, as a buffer's text. */
void fold_label(struct buf *out, const struct fold *fold);

/* The node behind `node` in the order of drawing: its first child, else its next sibling … */
uint32_t fold_next(const struct folds *f, uint32_t node);

#endif

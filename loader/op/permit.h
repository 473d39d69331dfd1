/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * May the sender of a request attach to a process?  The rules are policy.h's; where they leave it
 * to the kernel, the sender shows the kernel's answer as a descriptor, and descendants of that
 * process are judged by what they differ in.
 */
#ifndef PMCBPF_PERMIT_H
#define PMCBPF_PERMIT_H

#include "request.h"

#define PERMIT_LABEL 1024		/* bytes of a security label; no known one is longer */

/* The process that the request names, with the descriptor that came along.  0 or -errno. */
int permit_target(struct request *rq, const struct access *a);

/* After it has joined: is it still what was permitted?  -EBUSY: it has become something else. */
int permit_recheck(struct request *rq, const struct access *a);

/* Of a tree, what the client could attach to one by one. */
struct permit_tree {
	struct count_guard guard;	/* first: the guard is this */
	struct request *rq;
	const struct access *root;	/* it was permitted, or is the client itself */
	char label[PERMIT_LABEL];	/* of the root */
	int failed;			/* -errno of a question that could not be asked … */
	struct why why;			/* … and why not */
};
int permit_tree_init(struct permit_tree *t, struct request *rq, const struct access *root);

#endif

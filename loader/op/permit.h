/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * May the sender of a request attach to a process?  policy/rules.h decides the plain cases.  In the
 * others only the kernel knows, and it answers for the calling process only: the client opens a
 * file of the target in /proc, which the kernel permits or not, and sends the descriptor as proof.
 *
 * /proc/PID/mem proves the right to attach: to open it the client needs that right from every
 * security module, for its own Landlock domain, label and Yama relation, which no other process
 * could show in its place.  (A process that got such a descriptor from another one can read all of
 * the target's memory with it, which is more than counts show.)
 *
 * With CAP_SYS_PTRACE alone a client cannot open that file, which belongs to the target's user, but
 * it can open /proc/PID/maps.  This proves that no module forbids looking; a child with the
 * client's credentials then asks the kernel about ids, capabilities and Yama (access.h).  A client
 * under a security label is refused, since labels distinguish looking from attaching.
 *
 * Descendants of the target have sent no proof.  A descendant with the same credentials and label
 * is permitted as the target was; for others the child asks.  Landlock needs no question: a process
 * is in its parent's domain or in one below it, and a client that may attach to the parent may
 * attach to those.
 */
#ifndef PMCBPF_PERMIT_H
#define PMCBPF_PERMIT_H

#include "request.h"

#define PERMIT_LABEL 1024		/* bytes of a security label: more than known ones have */

/* 0 if the client may attach to the process that the request names, else -errno. */
int permit_target(struct request *rq, const struct access *a);

/* After the attachment: -EBUSY if the target has changed its credentials or program meanwhile. */
int permit_recheck(struct request *rq, const struct access *a);

/* Admits those processes of a tree that the client may attach to. */
struct permit_tree {
	struct count_guard guard;	/* first: the guard is this */
	struct request *rq;
	const struct access *root;	/* permitted, or the client itself */
	char label[PERMIT_LABEL];	/* of the root */
	int failed;			/* -errno of a question that could not be asked … */
	struct reason why;			/* … and the reason */
};
int permit_tree_init(struct permit_tree *t, struct request *rq, const struct access *root);

#endif

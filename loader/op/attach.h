/* SPDX-License-Identifier: BSD-2-Clause */
/* The attachment of a process to a PMC, for attach.c and start.c. */
#ifndef PMCBPF_ATTACH_H
#define PMCBPF_ATTACH_H

#include "request.h"

/*
 * Attaches the target, which the client calls `named`, and its descendants, if the client may
 * attach to them, to the PMC and all members of the group that it is the first of.  `waits`: each
 * counts from its next exec on.
 */
int attach_members(struct request *rq, struct pmc *p, int pidfd, const struct cred *target,
		   pid_t named, bool waits);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups of PMCs, as operations see them; private to this room. */
#ifndef PMCBPF_LOADER_GROUP_H
#define PMCBPF_LOADER_GROUP_H

#include "request.h"

/*
 * A new PMC's place in a group: 0, with the first PMC of the group that it joins in *first (NULL:
 * it joins none); or the reason why not.
 */
int group_admit(struct request *rq, const struct allocation *p, struct pmc **first);

/* pmc_find() for operations that concern whole groups: -EINVAL if it is not the first of one. */
int group_first_of(struct request *rq, uint32_t id, struct pmc **p);

/* Names the member that an error concerns in its reason; returns err. */
int group_deny(struct reason *why, struct pmc *const *list, unsigned int n, unsigned int failed,
	       int err);

/* Starts and stops all members at one instant. */
int group_start(struct pmc *const *list, unsigned int n, struct reason *why);
void group_stop(struct pmc *const *list, unsigned int n);

#endif

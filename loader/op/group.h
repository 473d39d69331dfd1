/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups of PMCs, as operations see them; private to this room. */
#ifndef PMCBPF_LOADER_GROUP_H
#define PMCBPF_LOADER_GROUP_H

#include "request.h"

/* 0 if a PMC can be allocated for a group, or for none as it asks; or the reason why not. */
int group_admit(const struct wire_allocate_req *a, struct reason *why);

/*
 * pmc_find() for operations that concern whole groups: -ENOTTY if it is not the first of one; the
 * second also: -EDOOFUS if it waits for its group to be complete.
 */
int group_first_of(struct request *rq, uint32_t id, struct pmc **p);
int group_complete_of(struct request *rq, uint32_t id, struct pmc **p);

/* Names the member that an error concerns in its reason; returns err. */
int group_deny(struct reason *why, struct pmc *const *list, unsigned int n, unsigned int failed,
	       int err);

/* The descriptors by which the owner reads the group; see struct wire_start_rep. */
void group_read_fds(struct reply *r, struct pmc *first, struct wire_start_rep *rep);

/* Starts and stops all members at one instant. */
int group_start(struct pmc *const *list, unsigned int n, struct reason *why);
void group_stop(struct pmc *const *list, unsigned int n);

#endif

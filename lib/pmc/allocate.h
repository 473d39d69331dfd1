/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocation and release, for pmc.c and group.c. */
#ifndef PMCBPF_ALLOCATE_H
#define PMCBPF_ALLOCATE_H

#include "pmc.h"

/* `how`: scope, flags, count, for a group or not; the event's fields are filled in from `spec`. */
int allocate_member(const char *spec, const struct wire_allocate_req *how, pmc_id_t *pmcid,
		    struct reason *why);
/* Releases a PMC, with its group if it is the first of one. */
int allocate_undo(pmc_id_t pmcid, struct reason *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocation and release of one PMC, for pmc.c and group.c. */
#ifndef PMCBPF_ALLOCATE_H
#define PMCBPF_ALLOCATE_H

#include "pmc.h"

/* `how`: scope, flags, count and place in a group; the event's fields are filled in from `spec`. */
int allocate_member(const char *spec, const struct wire_allocate_req *how, pmc_id_t *pmcid,
		    struct reason *why);
int allocate_undo(pmc_id_t pmcid, struct reason *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups that are not committed yet. */
#ifndef PMCBPF_GROUP_H
#define PMCBPF_GROUP_H

#include "lib/base/wire.h"
#include "pmc.h"

/* Lists the members of a complete group by its first; returns their number, 0: it is none. */
uint32_t group_members(pmc_id_t leader, pmc_id_t ids[WIRE_GROUP_MAX]);

/* A PMC is allocated, for a group or not; `how`: as it was asked for. */
int group_reserve(struct reason *why);	/* before the request: room for one more */
void group_note(pmc_id_t pmcid, const struct wire_allocate_req *how);

/* The PMC is released: forgets it, or the group that it stands for. */
void group_forget(pmc_id_t pmcid);

#endif

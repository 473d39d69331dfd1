/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups that are not committed yet. */
#ifndef PMCBPF_GROUP_H
#define PMCBPF_GROUP_H

#include "pmc.h"

/* Lists the members of a complete group by its first; returns their number, 0: it is none. */
uint32_t group_members(pmc_id_t leader, pmc_id_t ids[WIRE_GROUP_MAX]);

/* The PMC is released: forgets it, or the group that it stands for. */
void group_forget(pmc_id_t pmcid);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups that are not committed yet. */
#ifndef PMCBPF_GROUP_H
#define PMCBPF_GROUP_H

#include "pmc.h"

/* The PMC is released: forgets it, or the group that it stands for. */
void group_forget(pmc_id_t pmcid);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: PMCs that are started, stopped and read at one instant; see count.h. */
#ifndef PMCBPF_COUNT_GROUP_H
#define PMCBPF_COUNT_GROUP_H

#include "count_state.h"

/* A new PMC becomes a member.  -EOPNOTSUPP: it is not counted in slices, and holds nothing now. */
int count_group_join(struct count *c, struct reason *why);

#endif

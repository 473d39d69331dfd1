/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups: PMCs that are started, stopped and read at one instant; see count.h. */
#ifndef PMCBPF_COUNT_GROUP_H
#define PMCBPF_COUNT_GROUP_H

#include "count_state.h"

/* Before a new PMC may be in a group.  -EOPNOTSUPP: it cannot be, and holds nothing any more. */
int count_group_admit(struct count *c, struct reason *why);

#endif

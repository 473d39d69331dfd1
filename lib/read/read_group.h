/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads all members of a group at one instant, without the daemon. */
#ifndef PMCBPF_READ_GROUP_H
#define PMCBPF_READ_GROUP_H

#include "lib/base/reason.h"
#include "read_share.h"

struct pmc_group_member;

/*
 * Up to WIRE_GROUP_MAX members of the group that a PMC leads, and the group itself: READ_DONE;
 * READ_ASK when only the daemon knows; -errno.
 */
int read_group(const struct read_table *t, uint32_t leader,
	       struct pmc_group_member *members, const struct read_group **group,
	       struct reason *why);

/* The same for one member, whose events are the group's. */
int read_group_member(const struct read_table *t, uint32_t pmcid, uint64_t *value,
		      struct reason *why);

/*
 * One attempt, for the only thread of a process: returns 0, or the result of slow().  *n: the room,
 * and then the number of members.  It may have stored members by then.
 */
typedef int read_group_slow_fn(uint32_t leader, uint32_t *n, struct pmc_group_member *members);
int read_group_quick(uint32_t leader, uint32_t *n, struct pmc_group_member *members,
		     struct read_shared *s, read_group_slow_fn *slow);

#endif

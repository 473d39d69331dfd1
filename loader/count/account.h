/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Users as the programs know them.  Children of targets join in the fork itself, and logged
 * processes get their counts at a switch, so the programs charge users and keep to their limits by
 * themselves; here they learn which account is whose.
 */
#ifndef PMCBPF_ACCOUNT_H
#define PMCBPF_ACCOUNT_H

#include "loader/policy/policy.h"

struct engine;

/* The owner in that slot is one of the user's from now on.  -EAGAIN: there are too many users. */
int account_open(struct engine *e, struct user *u, unsigned int slot, struct why *why);
void account_close(struct engine *e, struct user *u, unsigned int slot);

/* The limits as they are now; and may the user have one target more? */
int account_may_target(struct engine *e, struct user *u, struct why *why);

#endif

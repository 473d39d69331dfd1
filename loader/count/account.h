/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Users' accounts in the programs.  Children of targets join in the fork itself, and logged
 * processes get their counts at a context switch: there the programs charge the users themselves.
 * So each user that counts has an account with its limits in the programs' maps.
 */
#ifndef PMCBPF_ACCOUNT_H
#define PMCBPF_ACCOUNT_H

#include "loader/policy/policy.h"

struct engine;

/* Charges the owner in that slot to the user from now on.  -EAGAIN: all accounts are in use. */
int account_open(struct engine *e, struct user *u, unsigned int slot, struct reason *why);
void account_close(struct engine *e, struct user *u, unsigned int slot);

/* Updates the user's limits; -EAGAIN: the user may not have another target. */
int account_may_target(struct engine *e, struct user *u, struct reason *why);

#endif

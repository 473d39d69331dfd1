/* SPDX-License-Identifier: BSD-2-Clause */
/* See account.h. */
#include <errno.h>

#include "account.h"
#include "loader/kernel/kernel.h"

static const enum pool_kind pool_of[ABI_CHARGES] = {
	[ABI_CHARGE_TARGETS] = POOL_TARGETS, [ABI_CHARGE_SHARES] = POOL_SHARES,
};

static void limits_write(struct abi_account *at, const struct user *u)
{
	for (unsigned int i = 0; i < ABI_CHARGES; i++) {
		unsigned int own, all;

		user_limits(u->table, u, pool_of[i], &own, &all);
		at->all[i] = all;
		at->own[i] = own;
	}
}

/* Finds an account not in use.  Accounts in use have limits of at least one. */
static unsigned int account_free(const struct abi_account *accounts)
{
	for (unsigned int i = 1; i < ABI_MAX_ACCOUNTS; i++)
		if (!accounts[i].own[0])
			return i;
	return 0;
}

int account_open(struct engine *e, struct user *u, unsigned int slot, struct reason *why)
{
	struct abi_account *accounts = owner_maps_accounts(e);

	if (!u->counting) {
		u->account = account_free(accounts);
		if (!u->account)
			return deny(why, -EAGAIN, "%d users count already, as many as can",
				    ABI_MAX_ACCOUNTS - 1);
		limits_write(&accounts[u->account], u);
	}
	u->counting++;
	*owner_maps_owner(e, slot) = (struct abi_owner){ .account = u->account };
	return 0;
}

void account_close(struct engine *e, struct user *u, unsigned int slot)
{
	struct abi_account *accounts = owner_maps_accounts(e), *at = &accounts[u->account];

	owner_maps_owner(e, slot)->account = 0;
	if (--u->counting)
		return;
	/* The account is empty; a remainder must not be charged to the next user. */
	for (unsigned int i = 0; i < ABI_CHARGES; i++) {
		uint32_t rest = __atomic_exchange_n(&at->used[i], 0, __ATOMIC_RELAXED);

		__atomic_fetch_sub(&accounts[0].used[i], rest, __ATOMIC_RELAXED);
		at->own[i] = at->all[i] = 0;
	}
	u->account = 0;
}

int account_may_target(struct engine *e, struct user *u, struct reason *why)
{
	struct abi_account *accounts = owner_maps_accounts(e), *at = &accounts[u->account];

	limits_write(at, u);
	u->used[POOL_TARGETS] = __atomic_load_n(&at->used[ABI_CHARGE_TARGETS], __ATOMIC_RELAXED);
	u->table->used[POOL_TARGETS] = __atomic_load_n(&accounts[0].used[ABI_CHARGE_TARGETS],
						       __ATOMIC_RELAXED);
	return user_may(u->table, u, POOL_TARGETS, 1, why);
}

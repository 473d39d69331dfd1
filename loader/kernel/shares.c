/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares by process and PMC: the programs keep them and charge them to the owner's account. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "engine.h"
#include "pmcbpf.skel.h"

static void shares_give(struct pmcbpf *skel, unsigned int slot, uint32_t n)
{
	struct abi_account *accounts = skel->bss->accounts;
	uint32_t account = skel->bss->owner_state[slot].account;

	__atomic_fetch_sub(&accounts[account].used[ABI_CHARGE_SHARES], n, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&accounts[0].used[ABI_CHARGE_SHARES], n, __ATOMIC_RELAXED);
}

uint64_t shares_take(const struct engine *e, unsigned int slot, uint32_t log, uint32_t tgid)
{
	struct pmcbpf *skel = e->skel;
	struct abi_share key = { .tgid = tgid, .log = log };
	uint64_t share = 0;

	if (bpf_map__lookup_and_delete_elem(skel->maps.shares, &key, sizeof(key), &share,
					    sizeof(share), 0))
		return 0;
	shares_give(skel, slot, 1);
	return share;
}

void shares_forget(const struct engine *e, unsigned int slot, uint32_t log)
{
	struct pmcbpf *skel = e->skel;
	const struct abi_account *account =
		&skel->bss->accounts[skel->bss->owner_state[slot].account];
	uint64_t args[1] = { log };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	if (__atomic_load_n(&account->used[ABI_CHARGE_SHARES], __ATOMIC_RELAXED) &&
	    !bpf_prog_test_run_opts(bpf_program__fd(skel->progs.shares_forget), &opts))
		shares_give(skel, slot, opts.retval);
}

bool shares_record_threads(const struct engine *e, unsigned int slot, uint32_t log)
{
	uint64_t args[2] = { log, slot };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = args, .ctx_size_in = sizeof(args));

	return !bpf_prog_test_run_opts(bpf_program__fd(e->skel->progs.threads_log), &opts) &&
	       opts.retval;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* See waker_record.h. */
#include <string.h>

#include <sys/pmc.h>

#include "bpf/log/offcpu_abi.h"
#include "chain.h"
#include "follows.h"
#include "loader/log/log.h"
#include "waker_record.h"

_Static_assert((int)ABI_WAKER_THREAD == (int)PMCLOG_WAKER_THREAD &&
	       (int)ABI_WAKER_INTERRUPT == (int)PMCLOG_WAKER_INTERRUPT, "the log's kinds");
_Static_assert(ABI_COMM <= PMCLOG_COMM, "names");

#define ADDRESSES (ABI_WAKER_KERNEL + ABI_WAKER_USER)

/* The log has mappings of the process. */
static bool waker_is_mapped(const struct pmc *p, pid_t tgid)
{
	const struct follow *any = LIST_FIRST(&p->follows);

	return pmc_samples_all(p) || (any && follow_find(any->table, p, tgid));
}

static unsigned int kernel_addresses(const struct abi_waker *w)
{
	unsigned int n = 0;

	while (n < w->n && w->pc[n] >> 63)
		n++;
	return n;
}

/* Leaves out addresses that the log may not have, or could not name. */
static void waker_trim(struct abi_waker *w, struct abi_rec *chain, const struct pmc *p)
{
	unsigned int kernel = kernel_addresses(w);

	if (!waker_is_mapped(p, (pid_t)w->pid)) {
		w->n = (uint16_t)kernel;
		chain->end = UNWIND_CUT_PROCESS;
	}
	if (p->kernel != KERNEL_HIDDEN || !kernel)
		return;
	w->n = (uint16_t)(w->n - kernel + 1);
	memmove(w->pc + 1, w->pc + kernel, (w->n - 1u) * sizeof(w->pc[0]));
	w->pc[0] = ABI_PC_KERNEL;
}

static void waker_put(struct pmclog_ev_waker *to, struct abi_waker *w, const struct pmc *p,
		      const struct abi_rec *rec)
{
	struct abi_rec chain = {
		.cpu = rec->cpu, .flags = w->flags, .end = w->end, .pointers = w->pointers,
	};
	struct pmclog_ev_callchain *c = &to->pl_chain;
	unsigned int room = logfile_chain_room(p->owner->log);

	waker_trim(w, &chain, p);
	chain.n = w->n;
	to->pl_kind = PMCLOG_WAKER_THREAD;
	memcpy(to->pl_tdname, w->name, sizeof(w->name) - 1);
	c->pl_pid = w->pid;
	c->pl_tid = w->tid;
	if (!w->n)
		return;
	(void)chain_take(c, &chain, (const uint64_t *)w->pc, room, p->kernel == KERNEL_HIDDEN);
	memcpy(c->pl_pc, w->pc, (size_t)c->pl_npc * sizeof(c->pl_pc[0]));
}

/* False: it was not seen, or there was no memory for the record. */
static bool waker_take(struct abi_waker *w, struct kept_records *kept, const struct abi_rec *rec)
{
	size_t words;
	const uint64_t *data = kept_record_take(kept, ABI_REC_WAKER, rec, &words);

	if (!data || words * sizeof(*data) < ABI_WAKER_HEAD || words > sizeof(*w) / sizeof(*data))
		return false;
	memcpy(w, data, words * sizeof(*data));
	return w->n <= words - ABI_WAKER_HEAD / sizeof(*data);
}

bool waker_record_make(struct pmclog_ev *ev, struct lifetime *life, struct kept_records *kept,
		       struct pmc *p, const struct abi_rec *rec)
{
	struct pmclog_ev_waker *to = &ev->pl_u.pl_wk;
	struct pmclog_ev_callchain *c = &to->pl_chain;
	struct abi_waker w;

	if (!(p->flags & PMC_F_WAKERS))
		return false;
	ev->pl_type = PMCLOG_TYPE_WAKER;
	c->pl_pid = c->pl_tid = c->pl_cpuflags = 0;
	c->pl_npc = 0;
	c->pl_pmcid = p->id;
	memset(to->pl_tdname, 0, sizeof(to->pl_tdname));
	if (!waker_take(&w, kept, rec))
		to->pl_kind = PMCLOG_WAKER_UNKNOWN;
	else if (w.kind != ABI_WAKER_THREAD)
		to->pl_kind = PMCLOG_WAKER_INTERRUPT;
	else if (lifetime_admits(life, p, (pid_t)w.pid, w.time) != ADMITTED)
		to->pl_kind = PMCLOG_WAKER_OTHER;
	else
		waker_put(to, &w, p, rec);
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends call chains, and detects missing callers. */
#include <sys/pmc.h>

#include "bpf/unwind/unwind_abi.h"
#include "chain.h"

_Static_assert((int)UNWIND_WHOLE == (int)PMC_CHAIN_WHOLE &&
	       (int)UNWIND_CUTS == (int)PMC_CHAIN_ENDS, "the log's numbers and the programs'");

/*
 * A frame pointer of user code may point anywhere in the program's memory.  So a value with the
 * form of a kernel address ends the chain behind a user address, and at any place if the owner may
 * not see kernel addresses.  A return address of 0, which the outermost frame has, ends it, too.
 */
static unsigned int chain_frames(const struct abi_rec *rec, const uint64_t *data, bool hides_kernel)
{
	unsigned int n = 1;

	while (n < rec->n && data[n] &&
	       !(data[n] >> 63 && (hides_kernel || !(data[n - 1] >> 63))))
		n++;
	return n;
}

/* How the program's part ended, if the record says so; callers that were dropped here count. */
static enum pmc_chain_end chain_end(const struct abi_rec *rec, unsigned int n, unsigned int room)
{
	if (!rec->end || rec->end >= PMC_CHAIN_ENDS)
		return PMC_CHAIN_NOT_RECORDED;
	if (n > room)
		return PMC_CHAIN_DEPTH;
	return n < rec->n ? PMC_CHAIN_KERNEL : rec->end;
}

static bool chain_is_cut(const struct abi_rec *rec, unsigned int n, enum pmc_chain_end end)
{
	if (rec->flags & ABI_REC_CUT_INSIDE)
		return true;
	if (end != PMC_CHAIN_NOT_RECORDED)
		return end != PMC_CHAIN_WHOLE;
	/* A chain that ends before its last address has reached the outermost frame. */
	return rec->flags & ABI_REC_CUT && n == rec->n;
}

bool chain_take(struct pmclog_ev_callchain *c, const struct abi_rec *rec, const uint64_t *data,
		unsigned int room, bool hides_kernel)
{
	unsigned int n = chain_frames(rec, data, hides_kernel);
	const enum pmc_chain_end end = chain_end(rec, n, room);
	bool cut = chain_is_cut(rec, n, end);

	if (n > room) {
		n = room;
		cut = true;
	}
	c->pl_npc = (int)n;
	c->pl_cpuflags = PMC_CALLCHAIN_TO_CPUFLAGS(rec->cpu,
		(rec->flags & ABI_REC_USER ? PMC_CC_F_USERSPACE : 0) | (cut ? PMC_CC_F_CUT : 0) |
		(rec->pointers ? PMC_CC_F_POINTERS : 0) | PMC_CC_F_END(end));
	return cut;
}

void chain_count(struct wire_losses *to, uint32_t cpuflags)
{
	const uint32_t end = PMC_CC_F_TO_END(cpuflags);
	const bool cut = cpuflags & PMC_CC_F_CUT;

	to->chains++;
	to->ended += end != PMC_CHAIN_NOT_RECORDED;
	to->whole += end == PMC_CHAIN_WHOLE && !cut;
	to->pointers += (cpuflags & PMC_CC_F_POINTERS) != 0;
	to->cut += cut;
	to->cuts[end] += cut;
}

void chain_late(struct wire_losses *to, unsigned int end)
{
	to->completed += end != UNWIND_CUT_TABLE;
	to->late += end == UNWIND_CUT_TABLE;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends call chains, and detects missing callers. */
#include <sys/pmc.h>

#include "chain.h"

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

bool chain_take(struct pmclog_ev_callchain *c, const struct abi_rec *rec, const uint64_t *data,
		unsigned int room, bool hides_kernel)
{
	unsigned int n = chain_frames(rec, data, hides_kernel);
	/* A chain that ends before its last address has reached the outermost frame. */
	bool cut = rec->flags & ABI_REC_CUT_INSIDE || (rec->flags & ABI_REC_CUT && n == rec->n);

	if (n > room) {
		n = room;
		cut = true;
	}
	c->pl_npc = (int)n;
	c->pl_cpuflags = PMC_CALLCHAIN_TO_CPUFLAGS(rec->cpu,
		(rec->flags & ABI_REC_USER ? PMC_CC_F_USERSPACE : 0) | (cut ? PMC_CC_F_CUT : 0));
	return cut;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the part of a sample's addresses for the owner's log. */
#ifndef PMCBPF_LOADER_CHAIN_H
#define PMCBPF_LOADER_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <pmclog.h>

#include "bpf/log/log_abi.h"
#include "lib/base/wire.h"

/*
 * Fills in cpuflags and at most `room` addresses.  `hides_kernel`: an address of the kernel's half
 * among user addresses ends the chain.  True: callers are missing, and PMC_CC_F_CUT is set.
 */
bool chain_take(struct pmclog_ev_callchain *c, const struct abi_rec *rec, const uint64_t *data,
		unsigned int room, bool hides_kernel);

/* Counts a chain whose table came later, by its end: enum unwind_cut. */
void chain_late(struct wire_losses *to, unsigned int end);
/* Counts a chain of a log by its cpuflags. */
void chain_count(struct wire_losses *to, uint32_t cpuflags);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of a sample's addresses that the owner's log gets. */
#ifndef PMCBPF_LOADER_CHAIN_H
#define PMCBPF_LOADER_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include <pmclog.h>

#include "bpf/log/log_abi.h"

/*
 * Fills in cpuflags and the number of addresses, `room` at most.  `hides_kernel`: addresses of the
 * kernel's half that stand among user code's end the chain.  True: callers are missing, and
 * PMC_CC_F_CUT says so.
 */
bool chain_take(struct pmclog_ev_callchain *c, const struct abi_rec *rec, const uint64_t *data,
		unsigned int room, bool hides_kernel);

#endif

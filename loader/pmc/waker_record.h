/* SPDX-License-Identifier: BSD-2-Clause */
/* The record of a wait's waker: PMC_F_WAKERS. */
#ifndef PMCBPF_WAKER_RECORD_H
#define PMCBPF_WAKER_RECORD_H

#include <stdbool.h>

#include <pmclog.h>

#include "kept_record.h"
#include "lifetime.h"
#include "pmc.h"

/*
 * The record for the wait `rec` of a PMC.  False: the PMC wants none.  The log has no more of a
 * waker than of a sample: nothing of a process that its owner may not sample.
 */
bool waker_record_make(struct pmclog_ev *ev, struct lifetime *life, struct kept_records *kept,
		       struct pmc *p, const struct abi_rec *rec);

#endif

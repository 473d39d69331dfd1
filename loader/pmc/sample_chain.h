/* SPDX-License-Identifier: BSD-2-Clause */
/* Call chains of samples, from records to an owner's log, some of them later than others. */
#ifndef PMCBPF_SAMPLE_CHAIN_H
#define PMCBPF_SAMPLE_CHAIN_H

#include "late_sample.h"
#include "lib/base/wire.h"
#include "offcpu_log.h"
#include "sample_python.h"

/* The sampling PMCs' common part. */
struct sample_chains {
	const struct unwinder *unwinder;
	struct kept_records *kept;
	struct sample_python *python;
	struct wire_losses losses;	/* in all logs */
};

/* Writes a sample; one that can be completed is written when it is. */
void sample_chain_put(struct sample_chains *cs, struct pmc *p, const struct abi_rec *rec,
		      const uint64_t *data);
/* The same for a wait; `waker`: NULL, or its waker's record. */
void sample_chain_put_wait(struct sample_chains *cs, struct offcpu_log *o, struct pmc *p,
			   const struct abi_rec *rec, const uint64_t *data,
			   const struct pmclog_ev *waker);

#endif

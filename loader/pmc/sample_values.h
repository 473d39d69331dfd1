/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of samples, from records that belong to them (kept_record.h) to logs. */
#ifndef PMCBPF_SAMPLE_VALUES_H
#define PMCBPF_SAMPLE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include <pmclog.h>

#include "bpf/log/log_abi.h"
#include "kept_record.h"
#include "value_record.h"

struct pmc;

/* Fills in the values of the sample, but for its PMC.  False: they are missing. */
bool sample_values_take(struct kept_records *kept, const struct abi_rec *rec,
			struct pmclog_ev_values *v);
/*
 * Puts them into the log of the PMC's owner.  -ENOENT: they are missing, and without them, as its
 * weight, the sample would be wrong.
 */
int sample_values_put(struct kept_records *kept, const struct abi_rec *rec, const struct pmc *p,
		      struct value_clock *clock);

#endif

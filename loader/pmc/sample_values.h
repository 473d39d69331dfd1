/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Values of samples, from the rings to logs.  The program puts them into the ring of its CPU right
 * before the sample.  They are kept until the sample comes, so that a log has both or neither.
 */
#ifndef PMCBPF_SAMPLE_VALUES_H
#define PMCBPF_SAMPLE_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include <pmclog.h>

#include "bpf/log/log_abi.h"
#include "value_record.h"

struct pmc;
struct sample_values;

/* NULL: no memory. */
struct sample_values *sample_values_new(unsigned int ncpu);
void sample_values_free(struct sample_values *s);

/* Keeps a record of values; false: it is another one. */
bool sample_values_keep(struct sample_values *s, const struct abi_rec *rec, const uint64_t *data);
/* Fills in the values of the sample, but for its PMC.  False: they are missing. */
bool sample_values_take(struct sample_values *s, const struct abi_rec *rec,
			struct pmclog_ev_values *v);
/*
 * Puts them into the log of the PMC's owner.  -ENOENT: they are missing, and without them, as its
 * weight, the sample would be wrong.
 */
int sample_values_put(struct sample_values *s, const struct abi_rec *rec, const struct pmc *p,
		      struct value_clock *clock);

#endif

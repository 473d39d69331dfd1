/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes the records of counting PMCs: values of slices, processes and threads. */
#ifndef PMCBPF_VALUE_RECORD_H
#define PMCBPF_VALUE_RECORD_H

#include "bpf/log/log_abi.h"
#include "loader/log/log.h"

/* Counts nanoseconds, or events if it has no rate. */
struct value_clock {
	uint32_t rate;			/* ticks a second; 0: no clock */
	uint64_t rest[ABI_REC_KINDS];	/* ns short of a whole tick, in records of each kind */
};
uint64_t value_record_ticks(struct value_clock *clock, enum abi_rec_kind kind, uint64_t value);

/* From the record and the words behind it.  False: it has no value. */
bool value_record_make(struct pmclog_ev *ev, struct value_clock *clock, uint32_t pmcid,
		       const struct abi_rec *rec, const uint64_t *data);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The period of a sampling PMC. */
#ifndef PMCBPF_COUNT_PERIOD_H
#define PMCBPF_COUNT_PERIOD_H

#include "count_state.h"

/* The period in the unit of the perf event; 0: the PMC does not sample. */
uint64_t count_period(const struct count *c);
/* The same, or the rate, and the rest of spec.samples. */
void count_period_fill(const struct count *c, struct perf_event_spec *spec);

#endif

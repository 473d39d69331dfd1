/* SPDX-License-Identifier: BSD-2-Clause */
/* The weight of samples whose period the kernel steers, from the record in front of each. */
#ifndef PMCBPF_CLI_PROFILE_WEIGHT_H
#define PMCBPF_CLI_PROFILE_WEIGHT_H

#include "walk.h"

/* Of the sample that comes next. */
struct weight {
	pmc_id_t id;
	bool there;
	uint64_t period;
};

void weight_note(struct weight *next, const struct pmclog_ev_values *v);
/* The weight of a sample of the event, in its rate; the event becomes a steered one. */
uint64_t weight_take(struct weight *next, struct walk_event *event);

#endif

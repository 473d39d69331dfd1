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
/* Samples of the event weigh as many events as its period, which becomes 1, says; returns that. */
uint64_t weight_fix(struct walk_event *event);
/* The event's samples are on the scale of CLOCK_WALL from now on. */
void weight_scale(struct walk_event *event, const struct clock_scale *scale);
/* Adds waits that are no samples. */
void weight_leave_out(struct walk_waits *sum, const struct pmclog_ev_waits *w);

#endif

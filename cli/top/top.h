/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmcstat -T: a log looked at while it is written, period by period.  The loop of a measurement
 * tells what happens (measure.h); the log comes through a tap, and is summed up as a profile.
 */
#ifndef PMCBPF_CLI_TOP_TOP_H
#define PMCBPF_CLI_TOP_TOP_H

#include "cli/measure/measure.h"

/* What a measurement with -T has as its `live`. */
int top_live(struct measure *m, enum live_event event);

/* Opens the input of a measurement that is nothing but looking at a log. */
int top_read(struct measure *m);

#endif

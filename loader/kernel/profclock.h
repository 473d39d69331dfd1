/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The profiling clock: one perf event on each CPU, whose overflows run the sampling program.  CPUs
 * that come online while it runs get an event as well.
 */
#ifndef PMCBPF_LOADER_PROFCLOCK_H
#define PMCBPF_LOADER_PROFCLOCK_H

#include <stdint.h>

#include "loader/base/base.h"

struct engine;
struct profclock;

struct profclock_config {
	struct engine *engine;
	unsigned int rate;		/* ticks a second */
	int program;			/* borrowed */
	uint64_t tag;			/* see sampler_set() */
};

int profclock_new(const struct profclock_config *config, struct profclock **out,
		  struct reason *why);
void profclock_free(struct profclock *c);

/* Opens events on CPUs that came online.  Returns how many of them refuse the event. */
unsigned int profclock_cpus(struct profclock *c);

#endif

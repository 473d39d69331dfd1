/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of a kernel profile's samples (kgmon(8)): all of one profile have the same. */
#ifndef PMCBPF_PROFILE_SOURCE_H
#define PMCBPF_PROFILE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/wire.h"

struct profile_source {
	bool clock;			/* the profiling clock; the rest is 0 */
	uint32_t class;			/* enum pmc_class */
	uint32_t sides;			/* PMC_CAP_USER, PMC_CAP_SYSTEM */
	uint64_t config[3];		/* of a hardware event */
	uint64_t period;
	char event[WIRE_NAME_MAX];
};

#endif

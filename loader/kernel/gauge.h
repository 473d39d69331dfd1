/* SPDX-License-Identifier: BSD-2-Clause */
/* Several counters of a CPU, read at one instant. */
#ifndef PMCBPF_GAUGE_H
#define PMCBPF_GAUGE_H

#include <stdint.h>

struct engine;

struct gauge {
	int fd;				/* a perf event on that CPU, or -1 … */
	uint32_t source;		/* … and the counter of a hook or tracepoint */
};

/*
 * Reads at most ABI_MAX_MEMBERS of them.  Bit i of *lost: counter i was taken away.  -ENXIO: the
 * CPU is offline; -errno: the kernel did not run the program.
 */
int gauge_read(const struct engine *e, unsigned int cpu, const struct gauge *list, unsigned int n,
	       uint64_t *values, uint32_t *lost);

#endif

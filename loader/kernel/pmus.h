/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PMUs that count for CPUs, not for tasks: those in sysfs with a list of CPUs ("cpumask" or "cpus")
 * that are no PMU of the CPUs' cores.  Most count something of a whole package (the uncore); one
 * CPU of each package stands for it, and the kernel moves events of other CPUs there, so that only
 * the listed CPUs are accepted.
 */
#ifndef PMCBPF_PMUS_H
#define PMCBPF_PMUS_H

#include <stddef.h>
#include <stdint.h>

#define PMUS_MAX  64u
#define PMUS_ROWS 160u		/* of all together */

struct debug;

struct pmus_one {
	char name[32];		/* directory below /sys/bus/event_source/devices */
	uint32_t type;		/* perf_event_attr.type */
	unsigned int first, rows;
};

struct pmus {
	unsigned int n, rows;
	unsigned int left_out;	/* PMUs for which there was no room */
	struct pmus_one one[PMUS_MAX];
	char text[PMUS_ROWS][44];
	const char *row[PMUS_ROWS];	/* each row's name: uncore_imc_0-3 */
};

/*
 * Finds the PMUs and their free counters, at most `rows`: it opens events until one fails.  A PMU
 * whose events do not limit each other gets some rows, too.
 */
void pmus_discover(struct pmus *p, unsigned int rows, const struct debug *debug);

/* The PMU of that type, or NULL. */
const struct pmus_one *pmus_find(const struct pmus *p, uint32_t type);

/* The PMU's CPUs as they are now, "0,28".  -ESRCH: it has gone, or has another type. */
int pmus_cpus(const struct pmus_one *pmu, char *list, size_t size);

#endif

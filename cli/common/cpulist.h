/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of CPU numbers and the text forms of -c and of sysfs: "0,2 5", "0-3", "*". */
#ifndef PMCBPF_CLI_CPULIST_H
#define PMCBPF_CLI_CPULIST_H

#include <stdbool.h>
#include <stdint.h>

#define CPULIST_MAX 4095	/* a PMC handle has 12 bits for the CPU, all ones mean any */

struct cpulist {
	uint64_t bits[(CPULIST_MAX + 63) / 64];
};

/* Parses numbers and ranges separated by commas, blanks or tabs.  -EINVAL: *list is undefined. */
int cpulist_parse(const char *text, struct cpulist *list);

/* The CPUs that are online.  0 or -errno. */
int cpulist_online(struct cpulist *list);

/* The smallest member that is not below `from`; -1 if there is none. */
int cpulist_next(const struct cpulist *list, int from);

#endif

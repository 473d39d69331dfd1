/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's lists of CPUs: "0-3,8".  Inline for the reason that number.h gives. */
#ifndef PMCBPF_BASE_CPURANGES_H
#define PMCBPF_BASE_CPURANGES_H

#include <stdbool.h>

#include "number.h"

/* Takes one range from the list.  False at its end, or where it is malformed. */
static inline bool cpuranges_next(const char **list, unsigned int *first, unsigned int *last)
{
	uint64_t from, to;

	*list += **list == ',';
	if (number_read(list, 10, UINT32_MAX, &from))
		return false;
	to = from;
	if (**list == '-') {
		++*list;
		if (number_read(list, 10, UINT32_MAX, &to))
			return false;
	}
	*first = (unsigned int)from;
	*last = (unsigned int)to;
	return true;
}

static inline bool cpuranges_has(const char *list, unsigned int cpu)
{
	unsigned int first, last;

	while (cpuranges_next(&list, &first, &last))
		if (first <= cpu && cpu <= last)
			return true;
	return false;
}

/* The highest CPU number + 1; 0 for an empty list. */
static inline unsigned int cpuranges_end(const char *list)
{
	unsigned int first, last, end = 0;

	while (cpuranges_next(&list, &first, &last))
		if (last >= end)
			end = last + 1;
	return end;
}

#endif

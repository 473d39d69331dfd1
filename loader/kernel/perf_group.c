/* SPDX-License-Identifier: BSD-2-Clause */
/* See perf_group.h. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include "perf_attr.h"
#include "perf_group.h"

#define MAX_EVENTS 16

int perf_group_open(const struct perf_event_spec *spec, int tid, int cpu, int leader)
{
	struct perf_event_attr attr;

	perf_attr_fill(&attr, spec);
	attr.pinned = attr.disabled = leader < 0;
	if (leader < 0)
		attr.read_format = PERF_FORMAT_GROUP;
	return perf_attr_open(&attr, tid, cpu, leader);
}

int perf_group_read(int leader, uint64_t *values, unsigned int n)
{
	uint64_t words[1 + MAX_EVENTS] = { 0 };
	const size_t size = (1 + n) * sizeof(*words);
	ssize_t got = n > MAX_EVENTS ? 0 : read(leader, words, size);

	if (got < 0)
		return -errno;
	/* End of file: the group has no counters. */
	if (got != (ssize_t)size || words[0] != n)
		return -EBUSY;
	memcpy(values, &words[1], n * sizeof(*values));
	return 0;
}

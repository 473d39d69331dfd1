/* SPDX-License-Identifier: BSD-2-Clause */
/* See perf_attr.h. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "perf_attr.h"

/* The kernel steers the period of an event that has a rate. */
static void attr_fill_samples(struct perf_event_attr *attr, const struct perf_event_spec *spec)
{
	attr->freq = spec->hz != 0;
	if (spec->hz)
		attr->sample_freq = spec->hz;
	else
		attr->sample_period = spec->period;
	attr->sample_type = spec->sample_type;
	attr->precise_ip = spec->precise & 3;
	attr->branch_sample_type = spec->branch;
	attr->sig_data = spec->tag;
}

void perf_attr_fill(struct perf_event_attr *attr, const struct perf_event_spec *spec)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->type = spec->type;
	attr->config = spec->config;
	attr->config1 = spec->config1;
	attr->config2 = spec->config2;
	attr->bp_type = spec->breakpoint;
	attr->pinned = 1;
	if (spec->user != spec->kernel) {
		attr->exclude_user = !spec->user;
		attr->exclude_kernel = !spec->kernel;
		attr->exclude_hv = 1;
	}
	attr_fill_samples(attr, spec);
	attr->inherit = spec->inherit;
	attr->inherit_thread = spec->inherit && !spec->inherit_children;
}

int perf_attr_open(struct perf_event_attr *attr, int pid, int cpu, int group)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

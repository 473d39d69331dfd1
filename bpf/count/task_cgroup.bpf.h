/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The cgroup of a task is the one by which perf counts: of the perf_event controller, in either
 * version of the hierarchy.
 */
#ifndef PMCBPF_TASK_CGROUP_BPF_H
#define PMCBPF_TASK_CGROUP_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define CONTROLLER bpf_core_enum_value(enum cgroup_subsys_id, perf_event_cgrp_id)

/* Not inlined, a function takes the address of the task's cgroup as a number only. */
static __always_inline u64 task_css(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	u64 css = 0;

	bpf_probe_read_kernel(&css, sizeof(css), &set->subsys[CONTROLLER]);
	return css;
}

/* True if the task is in the cgroup of that number, `level` levels below the root, or below it. */
static __always_inline bool task_in_cgroup(struct task_struct *task, u64 id, u32 level)
{
	struct cgroup_subsys_state *css;
	struct cgroup *group, *above = NULL;

	/* Kernels without this controller have waits as well. */
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, perf_event_cgrp_id))
		return false;
	css = (void *)task_css(task);
	group = BPF_CORE_READ(css, cgroup);
	if ((u32)BPF_CORE_READ(group, level) < level)
		return false;
	bpf_probe_read_kernel(&above, sizeof(above), &group->ancestors[level]);
	return BPF_CORE_READ(above, kn, id) == id;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* Whether a task runs at this moment. */
#ifndef PMCBPF_ON_CPU_BPF_H
#define PMCBPF_ON_CPU_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>

/*
 * Linux 7 made this int a byte: read in its actual size.  Without the field, any task may be
 * running.
 */
static __always_inline bool task_on_cpu(struct task_struct *task)
{
	return !bpf_core_field_exists(task->on_cpu) || BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu);
}

#endif

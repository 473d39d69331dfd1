/* SPDX-License-Identifier: GPL-2.0 */
/* Descriptors that the daemon passes to a program which it runs. */
#ifndef PMCBPF_FILE_BPF_H
#define PMCBPF_FILE_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* The file of a descriptor of the calling thread, or NULL. */
static __always_inline struct file *file_of(u32 fd)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct fdtable *table = BPF_CORE_READ(me, files, fdt);
	struct file **at = BPF_CORE_READ(table, fd), *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), at + fd);
	return file;
}

#endif

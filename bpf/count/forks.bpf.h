/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The number of forks that each thread has finished while the daemon watched, by the number of the
 * thread in the initial namespace; defined in life.bpf.c.
 */
#ifndef PMCBPF_FORKS_BPF_H
#define PMCBPF_FORKS_BPF_H

#include "maps.bpf.h"

struct forks_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u32);
	__type(value, u32);
};

extern struct forks_map forks SEC(".maps");
extern __u32 watch_forks;

/* Called by the thread itself, whose child is in the kernel's lists by now. */
static __always_inline void note_fork(struct task_struct *task)
{
	u32 tid = task->pid, one = 1, *n = bpf_map_lookup_elem(&forks, &tid);

	if (n)
		*n += 1;
	else
		bpf_map_update_elem(&forks, &tid, &one, BPF_ANY);
}

#endif

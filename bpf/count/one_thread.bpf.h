/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PMCs of one thread of a process alone (struct abi_alone).  The daemon writes the thread's number
 * and has a program visit the thread.  From then on its task_struct identifies it: an exec may
 * change the number, and does so before any program can note it.  Another thread may get either
 * only after this one has ended, and a fork shows that.
 */
#ifndef PMCBPF_ONE_THREAD_BPF_H
#define PMCBPF_ONE_THREAD_BPF_H

#include "targets.bpf.h"

extern struct sampled_threads_map sampled_threads SEC(".maps");

/* True if the thread is the one: by its task_struct, or by its number until that is known. */
static __always_inline bool alone_admits(struct abi_alone *a, u32 tid, u64 task)
{
	if (!a->task && a->tid == tid)
		a->task = task;
	return a->task == task;
}

/* True if the sampling PMC samples this thread. */
static __always_inline bool sampled_has(u32 id, u32 tid, u64 task)
{
	u32 at = id % ABI_SAMPLERS;
	struct abi_alone *a = bpf_map_lookup_elem(&sampled_threads, &at);

	return !a || !a->tid || alone_admits(a, tid, task);
}

/* The thread `from` is `to` now; or a thread begins at the address `task`, if that is not 0. */
static __always_inline void alone_change(struct abi_alone *a, u32 from, u32 to, u64 task)
{
	if (a->task ? a->task != task : a->tid != from)
		return;
	a->tid = to;
	a->task = 0;
}

#endif

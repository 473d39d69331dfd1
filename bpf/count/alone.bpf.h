/* SPDX-License-Identifier: GPL-2.0 */
/*
 * PMCs that count one thread of a process alone.  The daemon writes the thread's number; from the
 * thread's first slice on its task_struct identifies it, because an exec may change the number.
 * Another thread may get either only after this one has ended, and a fork shows that.
 */
#ifndef PMCBPF_ALONE_BPF_H
#define PMCBPF_ALONE_BPF_H

#include "maps.bpf.h"

static __always_inline struct abi_alone *alone_of(u32 owner, u32 pos)
{
	u32 key = ABI_ALONE(owner, pos);

	return bpf_map_lookup_elem(&alone_threads, &key);
}

/* True if the thread is the one: its number, and the address of its task_struct. */
static __always_inline bool alone_admits(struct abi_alone *a, u32 tid, u64 task)
{
	if (!a->task && a->tid == tid)
		a->task = task;
	return a->task == task;
}

/* Likewise, of the PMC at that place. */
static __always_inline bool alone_has(u32 owner, u32 pos, u32 tid, u64 task)
{
	struct abi_alone *a = alone_of(owner, pos);

	return a && alone_admits(a, tid, task);
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

/* SPDX-License-Identifier: GPL-2.0 */
/* The last switch of an exited thread, for the programs of switches. */
#ifndef PMCBPF_FINAL_BPF_H
#define PMCBPF_FINAL_BPF_H

#include "maps.bpf.h"
#include "slice_log.bpf.h"

#define TASK_DEAD 0x80

/* Not inlined: the verifier checks it once. */
__weak __noinline int final_add(u32 set, u64 rows, u64 tail)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	for (u32 row = 0; s && row < ABI_SOFT_ROWS; row++)
		if (rows >> row & 1 && s->soft[row].used && s->soft[row].quantity == ABI_Q_CPU_NS)
			counts_add(s->soft[row].owner, s->soft[row].pos, tail);
	return 0;
}

/*
 * The last switch of an exited thread: adds the CPU time since its exit hook to its process, which
 * is complete with its last thread.  A PMC may be stopped in between: the side that clears its bit
 * adds the time, and then this function deletes the entry of `dying`.
 */
static __always_inline void final_switch(struct task_struct *prev)
{
	u32 tid = prev->pid, tgid = task_process(prev);
	struct dying *d = bpf_map_lookup_elem(&dying, &tid);
	struct abi_target *t = bpf_map_lookup_elem(&targets, &tgid);
	u64 rows, tail = d ? prev->se.sum_exec_runtime - d->ns : 0;
	bool last = t && t->last == tid;
	struct abi_set *s;
	u32 set;

	if (t)
		thread_log(ABI_STATE_SET(t->state), d ? d->tid : task_thread(prev));
	if (t && t->state & ABI_STATE_EXIT) {
		__sync_fetch_and_add(&exits_begun, 1);
		set = ABI_STATE_SET(t->state);
		s = bpf_map_lookup_elem(&sets, &set);
		rows = last ? __sync_fetch_and_and(&t->state, ~(u64)ABI_STATE_SOFT) : t->state;
		if (tail)
			final_add(set, rows, tail);
		if (s && last && s->threads)
			exit_log(set, tgid);
		__sync_fetch_and_add(&exits_done, 1);
	} else if (t) {
		__sync_fetch_and_add(&t->dead_ns, tail);
	}
	if (d)
		bpf_map_delete_elem(&dying, &tid);
	if (last && t->state & ABI_STATE_EXIT)
		target_remove(tgid, ABI_STATE_SET(t->state));
}

#endif

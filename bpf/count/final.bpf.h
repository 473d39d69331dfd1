/* SPDX-License-Identifier: GPL-2.0 */
/* The last switch of an exited thread, for the programs of switches. */
#ifndef PMCBPF_FINAL_BPF_H
#define PMCBPF_FINAL_BPF_H

#include "figures.bpf.h"
#include "slice_log.bpf.h"

#define TASK_DEAD 0x80

/* Not inlined, so that the verifier checks it once, and not on each path to it. */
__weak __noinline int final_give(u32 set, u64 rows, u32 tid, bool last, u64 prev)
{
	struct dying *d = bpf_map_lookup_elem(&dying, &tid);
	struct task_struct *task = (void *)prev;
	struct figures f = {};

	if (!d)
		return 0;
	f.value[ABI_Q_CPU_NS] = BPF_CORE_READ(task, se.sum_exec_runtime) - d->ns;
	if (last) {
		f.value[ABI_Q_NVCSW] = (u32)BPF_CORE_READ(task, nvcsw) - d->nvcsw;
		f.value[ABI_Q_NIVCSW] = (u32)BPF_CORE_READ(task, nivcsw) - d->nivcsw;
	}
	f.value[ABI_Q_CSW] = f.value[ABI_Q_NVCSW] + f.value[ABI_Q_NIVCSW];
	return figures_give(set, rows, &f, false);
}

/*
 * The last switch of an exited thread: adds the CPU time since its exit hook to its process, which
 * is complete with its last thread, and of this one the switches since then.  Those of the others
 * are not even in the kernel's sum.  A PMC may be stopped in between: the side that clears its bit
 * adds the rest, and then this function deletes the entry of `dying`.
 */
static __always_inline void final_switch(struct task_struct *prev)
{
	u32 tid = prev->pid, tgid = task_process(prev);
	struct dying *d = bpf_map_lookup_elem(&dying, &tid);
	struct abi_target *t = bpf_map_lookup_elem(&targets, &tgid);
	bool last = t && t->last == tid;
	struct abi_set *s;
	u64 rows;
	u32 set;

	if (t)
		thread_log(ABI_STATE_SET(t->state), d ? d->tid : task_thread(prev));
	if (t && t->state & ABI_STATE_EXIT) {
		__sync_fetch_and_add(&exits_begun, 1);
		set = ABI_STATE_SET(t->state);
		s = bpf_map_lookup_elem(&sets, &set);
		rows = last ? __sync_fetch_and_and(&t->state, ~(u64)ABI_STATE_SOFT) : t->state;
		final_give(set, rows, tid, last, address_number(prev));
		if (s && last && s->threads)
			exit_log(set, tgid);
		__sync_fetch_and_add(&exits_done, 1);
	} else if (t && d) {
		__sync_fetch_and_add(&t->dead_ns, prev->se.sum_exec_runtime - d->ns);
	}
	if (d)
		bpf_map_delete_elem(&dying, &tid);
	if (last && t->state & ABI_STATE_EXIT)
		target_remove(tgid, ABI_STATE_SET(t->state));
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the figures that the kernel itself keeps for a process; no hook is needed. */
#ifndef PMCBPF_FIGURES_BPF_H
#define PMCBPF_FIGURES_BPF_H

#include "maps.bpf.h"

#define PF_EXITING	 0x4
#define MAX_THREADS	 65536

struct figures {
	u64 value[8];		/* by enum abi_quantity, of which 3 bits are looked at */
};

struct thread_walk {
	u64 node, head;
	struct figures *f;
};

/* Adds one thread, unless its exit hook has added it to the target's dead_ns already. */
static long walk_thread(u32 i, struct thread_walk *w)
{
	struct task_struct *t;
	struct list_head *node = (void *)w->node;
	u32 tid;

	if (w->node == w->head || !w->node)
		return 1;
	t = (void *)node - bpf_core_field_offset(struct task_struct, thread_node);
	w->f->value[ABI_Q_MINFLT] += BPF_CORE_READ(t, min_flt);
	w->f->value[ABI_Q_MAJFLT] += BPF_CORE_READ(t, maj_flt);
	w->f->value[ABI_Q_NVCSW] += BPF_CORE_READ(t, nvcsw);
	w->f->value[ABI_Q_NIVCSW] += BPF_CORE_READ(t, nivcsw);
	w->node = (u64)BPF_CORE_READ(t, thread_node.next);
	if (BPF_CORE_READ(t, exit_state))
		return 0;
	tid = BPF_CORE_READ(t, pid);
	if (BPF_CORE_READ(t, flags) & PF_EXITING && bpf_map_lookup_elem(&dying, &tid))
		return 0;
	w->f->value[ABI_Q_CPU_NS] += BPF_CORE_READ(t, se.sum_exec_runtime);
	return 0;
}

/*
 * One pass over the live threads and signal_struct's sums of dead ones; false if a thread's exit
 * interfered.
 */
static __always_inline bool figures_try(struct signal_struct *sig, const struct abi_target *t,
					struct figures *f)
{
	u32 seq = BPF_CORE_READ(sig, stats_lock.seqcount.seqcount.sequence);
	struct thread_walk w = {
		.f = f,
		.head = (u64)sig + bpf_core_field_offset(struct signal_struct, thread_head),
		.node = (u64)BPF_CORE_READ(sig, thread_head.next),
	};

	f->value[ABI_Q_CPU_NS] = t->dead_ns;
	f->value[ABI_Q_MINFLT] = BPF_CORE_READ(sig, min_flt);
	f->value[ABI_Q_MAJFLT] = BPF_CORE_READ(sig, maj_flt);
	f->value[ABI_Q_NVCSW] = BPF_CORE_READ(sig, nvcsw);
	f->value[ABI_Q_NIVCSW] = BPF_CORE_READ(sig, nivcsw);
	bpf_loop(MAX_THREADS, walk_thread, &w, 0);
	return !(seq & 1) && seq == BPF_CORE_READ(sig, stats_lock.seqcount.seqcount.sequence);
}

/*
 * The kernel's seqcount shows whether a thread's exit moved figures during the walk; if so, the
 * walk is repeated.  Unrolled because Linux 6.1 refuses a callback inside a loop.
 */
static __always_inline void figures_read(struct task_struct *task, const struct abi_target *t,
					 struct figures *f)
{
	struct signal_struct *sig = BPF_CORE_READ(task, signal);

	if (!sig)
		return;
	if (!figures_try(sig, t, f) && !figures_try(sig, t, f))
		figures_try(sig, t, f);
	f->value[ABI_Q_FLT] = f->value[ABI_Q_MINFLT] + f->value[ABI_Q_MAJFLT];
	f->value[ABI_Q_CSW] = f->value[ABI_Q_NVCSW] + f->value[ABI_Q_NIVCSW];
}

/*
 * Adds a process's figures to the PMCs on these SOFT rows of its set; `back`: subtracts them.  Not
 * inlined: the verifier checks it once.
 */
__weak __noinline int figures_give(u32 set, u32 rows, const struct figures *f, bool back)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	u64 sign = -(u64)back;		/* without a branch in each row */

	if (!s || !f)
		return 0;
	for (u32 row = 0; row < ABI_SOFT_ROWS; row++) {
		u64 value = f->value[s->soft[row].quantity & 7];

		if (rows >> row & 1 && s->soft[row].used)
			counts_add(s->soft[row].owner, s->soft[row].pos, (value ^ sign) - sign);
	}
	return 0;
}

#endif

// SPDX-License-Identifier: GPL-2.0
/* The daemon's walk over target processes: starts, reads and stops PMCs fed by figures per task. */
#include "figures.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct abi_visit_args visit = {};

static __always_inline void visit_running(u32 tgid)
{
	u32 n = visit.nrunning;

	if (n < ABI_MAX_RUNNING) {
		visit.running[n] = tgid;
		visit.nrunning = n + 1;
	}
}

/* Changes the mark as requested; true if this visit has to take the figures. */
static __always_inline bool visit_mark(struct abi_target *t, u64 bit)
{
	u64 old, new;

	for (int i = 0; i < 8; i++) {
		old = t->state;
		if (old & ABI_STATE_EXIT)
			return false;
		if (!!(old & bit) == (visit.op == ABI_VISIT_START))
			return false;
		if (visit.op == ABI_VISIT_READ)
			return true;
		new = visit.op == ABI_VISIT_START ? old | bit : old & ~bit;
		if (__sync_val_compare_and_swap(&t->state, old, new) == old)
			return true;
	}
	return false;
}

/* Every process and its parent, at a fraction of /proc's 10 us for each. */
SEC("iter/task")
int list_processes(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *parent;
	struct abi_birth b;

	if (!task || task->pid != task->tgid)
		return 0;
	b.child = task_process(task);
	parent = BPF_CORE_READ(task, real_parent);
	b.parent = nested ? task_process_nested(parent) : (u32)BPF_CORE_READ(parent, tgid);
	if (!b.child)
		return 0;
	bpf_seq_write(ctx->meta->seq, &b, sizeof(b));
	return 0;
}

/* Run by the daemon: determines its PID namespace. */
SEC("raw_tp")
int level_learn(void *ctx)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(me, thread_pid);
	struct upid *at;

	level.depth = BPF_CORE_READ(pid, level);
	at = pid_at(pid, level.depth);
	level.inum = BPF_CORE_READ(at, ns, ns.inum);
	return 0;
}

SEC("iter/task")
int visit_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 tgid, set, row = visit.row & (ABI_SOFT_ROWS - 1);
	struct figures f = {};
	struct abi_target *t;
	struct abi_soft *soft;
	struct abi_set *s;

	if (!task)
		return 0;
	tgid = task_process(task);
	set = index_lookup(tgid);
	if (!set || (visit.tgid && visit.tgid != tgid))
		return 0;
	if (visit.op == ABI_VISIT_RUNNING) {
		/* any task may be running if the kernel does not show it */
		if (task_on_cpu(task))
			visit_running(tgid);
		return 0;
	}
	if (task->pid != task->tgid)
		return 0;
	t = bpf_map_lookup_elem(&targets, &tgid);
	s = bpf_map_lookup_elem(&sets, &set);
	if (!t || !s)
		return 0;
	soft = &s->soft[row];
	if (!soft->used || soft->owner != visit.owner || soft->pos != visit.pos)
		return 0;
	figures_read(task, t, &f);
	if (visit_mark(t, 1ull << row)) {
		visit.sum += f.value[soft->quantity & 7];
		visit.visited++;
	}
	return 0;
}

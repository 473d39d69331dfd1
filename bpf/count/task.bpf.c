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

/* --- exited processes ------------------------------------------------------------------------ */

static __always_inline bool soft_is_visited(const struct abi_soft *soft)
{
	return soft->used && soft->owner == visit.owner && soft->pos == visit.pos;
}

/* True for the one caller that cleared the PMC's bit. */
static __always_inline bool tail_take(struct abi_target *t, u64 bit)
{
	return __sync_fetch_and_and(&t->state, ~bit) & bit;
}

struct tail_walk {
	u64 node, head;
	struct figures *f;
	u32 last;			/* the process's last thread */
};

static long walk_tail(u32 i, struct tail_walk *w)
{
	struct task_struct *t;
	struct dying *d;
	u32 tid;

	if (w->node == w->head || !w->node)
		return 1;
	t = (void *)w->node - bpf_core_field_offset(struct task_struct, thread_node);
	tid = BPF_CORE_READ(t, pid);
	d = bpf_map_lookup_elem(&dying, &tid);
	if (d)
		w->f->value[ABI_Q_CPU_NS] += BPF_CORE_READ(t, se.sum_exec_runtime) - d->ns;
	if (d && tid == w->last) {
		w->f->value[ABI_Q_NVCSW] = (u32)BPF_CORE_READ(t, nvcsw) - d->nvcsw;
		w->f->value[ABI_Q_NIVCSW] = (u32)BPF_CORE_READ(t, nivcsw) - d->nivcsw;
	}
	w->node = (u64)BPF_CORE_READ(t, thread_node.next);
	return 0;
}

/*
 * A process that has exited but not switched for the last time: its figures have been added.  What
 * its threads have used since then is part of the sum; if the PMC stops, it is the last part.
 */
static __always_inline void visit_exited(struct task_struct *leader, struct abi_target *t,
					 const struct abi_soft *soft, u64 bit)
{
	struct signal_struct *sig = BPF_CORE_READ(leader, signal);
	struct figures f = {};
	struct tail_walk w = { .f = &f, .last = t->last };

	if (sig) {
		w.head = (u64)sig + bpf_core_field_offset(struct signal_struct, thread_head);
		w.node = (u64)BPF_CORE_READ(sig, thread_head.next);
		bpf_loop(MAX_THREADS, walk_tail, &w, 0);
	}
	f.value[ABI_Q_CSW] = f.value[ABI_Q_NVCSW] + f.value[ABI_Q_NIVCSW];
	if (visit.op == ABI_VISIT_READ ? t->state & bit : tail_take(t, bit))
		visit.sum += f.value[soft->quantity & 7];
}

/*
 * A reaped process is in no list of tasks but may still run for some microseconds.  At a reading
 * these are the threads that have yet to switch for the last time.
 */
static long tail_end(void *map, u32 *tid, struct dying *d, void *unused)
{
	u32 tgid = d->tgid, set, row = visit.row & (ABI_SOFT_ROWS - 1);
	struct abi_target *t = bpf_map_lookup_elem(&targets, &tgid);
	struct abi_set *s;

	if (!t || !(t->state & ABI_STATE_EXIT) || (visit.tgid && visit.tgid != tgid))
		return 0;
	set = ABI_STATE_SET(t->state);
	s = bpf_map_lookup_elem(&sets, &set);
	if (!s || !soft_is_visited(&s->soft[row]))
		return 0;
	if (visit.op == ABI_VISIT_READ)
		visit.leaving++;
	else
		tail_take(t, 1ull << row);
	return 0;
}

/* --- iterators ------------------------------------------------------------------------------- */

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

	/* the end of the list */
	if (!task) {
		if (visit.op == ABI_VISIT_STOP || visit.op == ABI_VISIT_READ)
			bpf_for_each_map_elem(&dying, tail_end, NULL, 0);
		return 0;
	}
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
	if (!soft_is_visited(soft))
		return 0;
	if (t->state & ABI_STATE_EXIT) {
		if (visit.op != ABI_VISIT_START)
			visit_exited(task, t, soft, 1ull << row);
		return 0;
	}
	figures_read(task, t, &f);
	if (visit_mark(t, 1ull << row)) {
		visit.sum += f.value[soft->quantity & 7];
		visit.visited++;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Who is a target: children of targets from before their first instruction, until the last thread's
 * last switch.  The daemon adds and removes targets through target_ctl, never behind the programs'
 * back.
 */
#include "figures.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define EEXIST 17
#define ESRCH  3
#define ENOSPC 28
#define EINVAL 22

/*
 * Forks of processes that are no targets, while the daemon walks a tree: a child whose parent exits
 * before the walk comes by is found here.
 */
__u32 walking = 0;
__u32 nbirths = 0;
struct abi_birth births[ABI_MAX_BIRTHS] = {};

static __always_inline void note_birth(u32 parent, u32 child)
{
	u32 n = __sync_fetch_and_add(&nbirths, 1);

	if (n < ABI_MAX_BIRTHS) {
		births[n].parent = parent;
		births[n].child = child;
	}
}

static __always_inline void index_add(u32 tgid, u32 set)
{
	u32 *word = &target_index[tgid & (ABI_INDEX_SIZE - 1)];

	if (__sync_val_compare_and_swap(word, 0, ABI_INDEX(tgid, set)))
		__sync_lock_test_and_set(word, ABI_INDEX_SHARED);
}

static __always_inline void ntargets_add(u32 set, s32 n)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	if (s)
		__sync_fetch_and_add(&s->ntargets, n);
}

static __always_inline int target_add(u32 tgid, u32 set, u32 soft, u64 start)
{
	struct abi_target t = { .state = (u64)set << 32 | soft, .start = start };
	int err = bpf_map_update_elem(&targets, &tgid, &t, BPF_NOEXIST);

	if (err)
		return err;
	index_add(tgid, set);
	ntargets_add(set, 1);
	return 0;
}

/* Closes the book on a target; true for the one caller that did. */
static __always_inline bool target_exit(struct abi_target *t, u32 last)
{
	u64 old = __sync_fetch_and_or(&t->state, ABI_STATE_EXIT);

	if (old & ABI_STATE_EXIT)
		return false;
	t->last = last;
	ntargets_add(ABI_STATE_SET(old), -1);
	return true;
}

static __always_inline void forked(struct task_struct *parent, struct task_struct *child)
{
	u32 tgid = child->tgid, set;
	struct abi_target *t;
	struct abi_set *s;
	int err;

	set = index_lookup(parent->tgid);
	s = set ? bpf_map_lookup_elem(&sets, &set) : NULL;
	set = s ? s->child : 0;
	/*
	 * The number of an exited target that was not swept yet: the new process is not that
	 * one.
	 */
	if (target_index[tgid & (ABI_INDEX_SIZE - 1)]) {
		t = bpf_map_lookup_elem(&targets, &tgid);
		if (t && t->start != child->start_boottime) {
			target_exit(t, 0);
			target_remove(tgid, ABI_STATE_SET(t->state));
		}
	}
	if (walking)
		note_birth(parent->tgid, tgid);
	if (!set)
		return;
	s = bpf_map_lookup_elem(&sets, &set);
	if (!s)
		return;
	err = target_add(tgid, set, s->soft_active, child->start_boottime);
	if (err && err != -EEXIST)
		__sync_fetch_and_add(&lost_targets, 1);
}

static __always_inline int on_fork_body(struct task_struct *parent, struct task_struct *child)
{
	if (child->pid != child->tgid)
		return 0;
	preempt_off();
	forked(parent, child);
	preempt_on();
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	return on_fork_body(parent, child);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork_again, struct task_struct *parent, struct task_struct *child)
{
	return on_fork_body(parent, child);
}

static __always_inline void process_exited(struct task_struct *task, struct abi_target *t)
{
	u32 tid = task->pid, tgid = task->tgid, set = ABI_STATE_SET(t->state), row;
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	struct figures f = {};

	if (t->state & ABI_STATE_SOFT)
		figures_read(task->group_leader, t, &f);
	if (!target_exit(t, tid))
		return;
	for (row = 0; s && row < ABI_SOFT_ROWS; row++)
		if (t->state >> row & 1 && s->soft[row].used)
			counts_add(s->soft[row].owner, s->soft[row].pos,
				   f.value[s->soft[row].quantity & 7]);
	if (!finals) {
		bpf_map_delete_elem(&dying, &tid);
		target_remove(tgid, set);
	}
}

static __always_inline void exited(struct task_struct *task)
{
	u32 tid = task->pid, tgid = task->tgid;
	struct dying d = { .ns = task->se.sum_exec_runtime };
	struct abi_target *t = bpf_map_lookup_elem(&targets, &tgid);

	if (!t)
		return;
	__sync_fetch_and_add(&exits_begun, 1);
	if (!bpf_map_update_elem(&dying, &tid, &d, BPF_NOEXIST)) {
		__sync_fetch_and_add(&t->dead_ns, d.ns);
		__sync_fetch_and_add(&t->dead_migrations, task->se.nr_migrations);
	}
	if (!task->signal->live.counter)
		process_exited(task, t);
	__sync_fetch_and_add(&exits_done, 1);
}

static __always_inline int on_exit_body(struct task_struct *task)
{
	if (!index_lookup(task->tgid))
		return 0;
	preempt_off();
	exited(task);
	preempt_on();
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	return on_exit_body(task);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit_again, struct task_struct *task)
{
	return on_exit_body(task);
}

static __always_inline int target_move(u32 tgid, u32 set, u64 keep)
{
	struct abi_target *t = bpf_map_lookup_elem(&targets, &tgid);
	u32 *word = &target_index[tgid & (ABI_INDEX_SIZE - 1)];
	u64 old, new;

	if (!t)
		return -ESRCH;
	for (int i = 0; i < 8; i++) {
		old = t->state;
		if (old & ABI_STATE_EXIT)
			return -ESRCH;
		new = (u64)set << 32 | (old & keep & ABI_STATE_SOFT);
		if (__sync_val_compare_and_swap(&t->state, old, new) != old)
			continue;
		__sync_val_compare_and_swap(word, ABI_INDEX(tgid, ABI_STATE_SET(old)),
					    ABI_INDEX(tgid, set));
		ntargets_add(set, 1);
		ntargets_add(ABI_STATE_SET(old), -1);
		return 0;
	}
	return -ESRCH;
}

/* Run by the daemon: (enum abi_ctl, tgid, set, SOFT rows to keep). */
SEC("raw_tp")
int target_ctl(unsigned long long *ctx)
{
	u32 op = ctx[0], tgid = ctx[1], set = ctx[2];
	u64 keep = ctx[3];
	struct abi_target *t;

	switch (op) {
	case ABI_CTL_ADD:
		return target_add(tgid, set, 0, 0);
	case ABI_CTL_MOVE:
		return target_move(tgid, set, keep);
	case ABI_CTL_DELETE:
		t = bpf_map_lookup_elem(&targets, &tgid);
		if (!t)
			return -ESRCH;
		target_exit(t, 0);
		target_remove(tgid, ABI_STATE_SET(t->state));
		return 0;
	}
	return -EINVAL;
}

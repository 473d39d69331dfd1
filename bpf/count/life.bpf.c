// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetimes of targets.  A child of a target is a target from before its first instruction until
 * its last thread's last switch.  The daemon adds and removes targets only through target_ctl.
 *
 * An exec changes nothing for a target, with two exceptions.  PMCs that wait for it begin there,
 * where the kernel enables its own waiting events (enable_on_exec of perf_event_open(2)).  And if
 * the new image has rights that the old one lacked, PMCs whose owners may not follow leave the
 * process before its first instruction.  A process that executes a program loses its connections,
 * and all that it owns.
 */
#include "figures.bpf.h"
#include "below.bpf.h"
#include "forks.bpf.h"
#include "secure.bpf.h"

char LICENSE[] SEC("license") = "GPL";

#define EAGAIN 11
#define EEXIST 17
#define ESRCH  3
#define ENOSPC 28
#define EINVAL 22

/*
 * While the daemon walks a process tree, forks of non-targets are noted, so that the walk finds a
 * child even if its parent exits first.
 */
__u32 walking = 0;
__u32 nbirths = 0;
struct abi_birth births[ABI_MAX_BIRTHS] = {};

struct forks_map forks SEC(".maps");
__u32 watch_forks = 0;

extern int slice_end(u32 from, u32 to);
extern int thread_renumber(u32 set);
extern int thread_log(u32 set, u32 tid);
extern int thread_change(u32 set, u32 from, u32 to, u64 task);

static __always_inline void note_birth(u32 parent, u32 child)
{
	u32 n = __sync_fetch_and_add(&nbirths, 1) & (ABI_MAX_BIRTHS - 1);

	births[n].parent = parent;
	births[n].child = child;
}

static __always_inline void index_add(u32 tgid, u32 set)
{
	u32 *word = &target_index[tgid & (ABI_INDEX_SIZE - 1)];

	if (__sync_val_compare_and_swap(word, 0, ABI_INDEX(tgid, set)))
		__sync_lock_test_and_set(word, ABI_INDEX_SHARED);
}

static __always_inline u32 ntargets_add(u32 set, s32 n)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	if (!s)
		return 0;
	account_add(s->account, ABI_CHARGE_TARGETS, n);
	return __sync_fetch_and_add(&s->ntargets, n);
}

/* A target has left a set by itself.  If it was the last, the daemon may have to signal owners. */
static __always_inline void set_left(u32 set, u32 tgid)
{
	if (ntargets_add(set, -1) == 1)
		note(ABI_NOTE_EMPTY, tgid, set, 0);
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

/* Marks a target as exited; returns true to exactly one caller. */
static __always_inline bool target_exit(struct abi_target *t, u32 tgid, u32 last)
{
	u64 old = __sync_fetch_and_or(&t->state, ABI_STATE_EXIT);

	if (old & ABI_STATE_EXIT)
		return false;
	t->last = last;
	set_left(ABI_STATE_SET(old), tgid);
	return true;
}

static __always_inline void forked(struct task_struct *parent, struct task_struct *child)
{
	u32 tgid = task_process(child), from = task_process(parent), set;
	struct abi_target *t;
	struct abi_set *s;
	int err;

	/* not in the daemon's PID namespace */
	if (!tgid)
		return;
	set = index_lookup(from);
	s = set ? bpf_map_lookup_elem(&sets, &set) : NULL;
	set = s ? s->child : 0;
	/* An exited target with this number has not been removed yet; it is not the new process. */
	if (target_index[tgid & (ABI_INDEX_SIZE - 1)]) {
		t = bpf_map_lookup_elem(&targets, &tgid);
		if (t && t->start != child->start_boottime) {
			target_exit(t, tgid, 0);
			target_remove(tgid, ABI_STATE_SET(t->state));
		}
	}
	if (walking)
		note_birth(from, tgid);
	if (!set)
		return;
	s = bpf_map_lookup_elem(&sets, &set);
	if (!s)
		return;
	err = -EEXIST;
	if (!bpf_map_lookup_elem(&targets, &tgid))
		err = account_room(s->account, ABI_CHARGE_TARGETS) ?
			      target_add(tgid, set, s->soft_active, child->start_boottime) :
			      -ENOSPC;
	if (err && err != -EEXIST)
		__sync_fetch_and_add(&s->lost, 1);
}

static __always_inline int on_fork_body(struct task_struct *parent, struct task_struct *child)
{
	u32 set;

	if (watch_numbers)
		note_numbers(child);
	if (watch_forks)
		note_fork(parent);
	if (child->pid != child->tgid) {
		/* If a thread had this number or task_struct before, it has ended. */
		set = index_lookup(task_process(parent));
		return set ? thread_change(set, child->pid, ABI_THREAD_GONE,
					   address_number(child)) : 0;
	}
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

static __always_inline void process_exited(struct task_struct *task, u32 tgid,
					   struct abi_target *t)
{
	u32 tid = task->pid, set = ABI_STATE_SET(t->state);
	struct figures f = {};

	if (t->state & ABI_STATE_SOFT)
		figures_read(task, t, &f);
	if (!target_exit(t, tgid, tid))
		return;
	figures_give(set, t->state & ABI_STATE_SOFT, &f, false);
	if (!finals) {
		bpf_map_delete_elem(&dying, &tid);
		target_remove(tgid, set);
	}
}

static __always_inline void exited(struct task_struct *task)
{
	u32 tid = task->pid, tgid = task_process(task);
	struct dying d = { .ns = task->se.sum_exec_runtime, .nvcsw = task->nvcsw,
			   .nivcsw = task->nivcsw, .tgid = tgid, .tid = task_thread(task) };
	struct abi_target *t = bpf_map_lookup_elem(&targets, &tgid);

	if (!t)
		return;
	__sync_fetch_and_add(&exits_begun, 1);
	if (!bpf_map_update_elem(&dying, &tid, &d, BPF_NOEXIST))
		__sync_fetch_and_add(&t->dead_ns, d.ns);
	if (!BPF_CORE_READ(task, signal, live.counter))
		process_exited(task, tgid, t);
	__sync_fetch_and_add(&exits_done, 1);
}

static __always_inline int on_exit_body(struct task_struct *task)
{
	if (!index_lookup(task_process(task)))
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

/* --- exec ----------------------------------------------------------------------------------- */

/* The SOFT rows whose PMCs are in both sets. */
__noinline u32 soft_common(u32 from, u32 to)
{
	struct abi_set *a = bpf_map_lookup_elem(&sets, &from);
	struct abi_set *b = bpf_map_lookup_elem(&sets, &to);
	u32 rows = 0;

	for (u32 row = 0; a && b && row < ABI_SOFT_ROWS; row++)
		if (a->soft[row].used && b->soft[row].used &&
		    a->soft[row].owner == b->soft[row].owner &&
		    a->soft[row].pos == b->soft[row].pos)
			rows |= 1u << row;
	return rows;
}

/*
 * Changes the target's state.  Returns the old state to the one caller that changed it, 0 to
 * others.  `keep`: SOFT rows that stay; `begin`: those that begin.
 */
__noinline u64 state_change(struct abi_target *t, u32 to, u64 keep, u64 begin)
{
	u64 old, new;

	for (int i = 0; t && i < 8; i++) {
		old = t->state;
		if (old & ABI_STATE_EXIT)
			return 0;
		new = to ? (u64)to << 32 | (old & keep) | begin : old | ABI_STATE_EXIT;
		if (__sync_val_compare_and_swap(&t->state, old, new) == old)
			return old;
	}
	return 0;
}

static __always_inline void index_change(u32 tgid, u32 from, u32 to)
{
	u32 *word = &target_index[tgid & (ABI_INDEX_SIZE - 1)];

	if (to)
		__sync_val_compare_and_swap(word, ABI_INDEX(tgid, from), ABI_INDEX(tgid, to));
	else
		target_remove(tgid, from);
}

static __always_inline void target_secure(struct task_struct *task, struct abi_target *t, u32 from,
					  u32 to)
{
	struct figures f = {};
	u32 tgid = task_process(task);
	u64 old, keep;

	keep = to ? soft_common(from, to) : 0;
	if (t->state & ABI_STATE_SOFT)
		figures_read(task, t, &f);
	old = state_change(t, to, keep, 0);
	if (!old)
		return;
	figures_give(from, old & ~keep & ABI_STATE_SOFT, &f, false);
	index_change(tgid, from, to);
	slice_end(from, to);
	if (to)
		ntargets_add(to, 1);
	set_left(from, tgid);
}

static __always_inline struct pt_regs *user_regs(void)
{
	return (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

static __always_inline void exec_note(u32 kind, u32 tgid)
{
	struct abi_exec x = { .time = bpf_ktime_get_ns(), .tgid = tgid, .kind = kind };

	if (!watch_execs)
		return;
	/* By now the kernel has set the registers, for the dynamic linker if there is one. */
	if (kind != ABI_EXEC_BEGIN)
		x.entry = PT_REGS_IP_CORE(user_regs());
	/* Incremented first: a note stays invisible while another CPU is writing an earlier one. */
	__sync_fetch_and_add(&execs_put, 1);
	if (!ring_output(&execs, &x, sizeof(x)))
		__sync_fetch_and_add(&execs_lost, 1);
}

/* The SOFT rows whose PMCs begin when a process changes from one set to the other. */
__noinline u32 soft_beginning(u32 from, u32 to)
{
	struct abi_set *a = bpf_map_lookup_elem(&sets, &from);
	struct abi_set *b = bpf_map_lookup_elem(&sets, &to);
	u32 rows = 0;

	for (u32 row = 0; a && b && row < ABI_SOFT_ROWS; row++)
		if (!a->soft[row].used && b->soft[row].used)
			rows |= b->soft_active & 1u << row;
	return rows;
}

/* Begins the PMCs that waited: everything that the process has used so far is subtracted. */
static __always_inline void waits_over(struct task_struct *task, struct abi_target *t, u32 from,
				       u32 to)
{
	u32 tgid = task_process(task), begin = soft_beginning(from, to), late;
	struct abi_set *s = bpf_map_lookup_elem(&sets, &to);
	struct figures f = {};

	if (!s)
		return;
	if (begin)
		figures_read(task, t, &f);
	if (!state_change(t, to, ABI_STATE_SOFT, begin))
		return;
	figures_give(to, begin, &f, true);
	/* A PMC that is being stopped may have missed the process. */
	late = begin & ~s->soft_active;
	if (late)
		figures_give(to, late & (u32)__sync_fetch_and_and(&t->state, ~(u64)late), &f,
			     false);
	index_change(tgid, from, to);
	slice_end(from, to);
	ntargets_add(to, 1);
	set_left(from, tgid);
}

static __always_inline void waits_end(struct task_struct *task, u32 from)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &from);
	u32 tgid = task_process(task), to = s ? s->exec : 0;
	struct abi_target *t = to ? bpf_map_lookup_elem(&targets, &tgid) : NULL;

	if (!t)
		return;
	/* A reader repeats its sum if these change. */
	__sync_fetch_and_add(&exits_begun, 1);
	waits_over(task, t, from, to);
	__sync_fetch_and_add(&exits_done, 1);
}

/*
 * An exec sets the process's name right after the kernel has enabled the waiting events, and before
 * it maps the program: the address space is new then, and its start_code is 0.  It is not 0 for
 * programs that rename themselves.
 */
static __always_inline int on_rename_body(struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	u32 tgid, set;

	if (!mm || BPF_CORE_READ(mm, start_code) ||
	    task->pid != (int)(u32)bpf_get_current_pid_tgid())
		return 0;
	preempt_off();
	tgid = task_process(task);
	set = index_lookup(tgid);
	if (set) {
		exec_note(ABI_EXEC_BEGIN, tgid);
		thread_renumber(set);
		waits_end(task, set);
	}
	preempt_on();
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *comm)
{
	return on_rename_body(task);
}

SEC("tp_btf/task_rename")
int BPF_PROG(on_rename_again, struct task_struct *task, const char *comm)
{
	return on_rename_body(task);
}

static __always_inline void target_exec(struct task_struct *task, struct linux_binprm *bprm)
{
	u32 tgid = task_process(task), dump, from, to;
	struct abi_target *t;
	struct abi_set *s;

	t = bpf_map_lookup_elem(&targets, &tgid);
	/* Nothing is left to do after the first instance of the program. */
	if (!t || t->exec == (u32)task->self_exec_id)
		return;
	dump = dumpable(task);
	if (!is_secure(task, bprm, dump)) {
		exec_note(ABI_EXEC_PLAIN, tgid);
		return;
	}
	/* First, so that a reader that no longer finds the target finds this note. */
	exec_note(ABI_EXEC_SECURE, tgid);
	t->exec = (u32)task->self_exec_id;
	from = ABI_STATE_SET(t->state);
	s = bpf_map_lookup_elem(&sets, &from);
	to = s ? s->secure : 0;
	if (to != from) {
		/* A reader repeats its sum if these change. */
		__sync_fetch_and_add(&exits_begun, 1);
		target_secure(task, t, from, to);
		__sync_fetch_and_add(&exits_done, 1);
	}
	note(ABI_NOTE_SECURE, tgid, from, dump != DUMPABLE_USER);
}

/*
 * Notes every exec, regardless of the old value: between the two lines the daemon may pass the
 * entry from this process to another.
 */
static __always_inline void owner_exec(u32 tgid)
{
	u32 *since = bpf_map_lookup_elem(&clients, &tgid);

	if (!since)
		return;
	*since = 1;
	note(ABI_NOTE_OWNER, tgid, 0, 0);
}

static __always_inline int on_exec_body(struct task_struct *task, int old,
					struct linux_binprm *bprm)
{
	u32 tgid = task_process(task), set;

	if (!tgid)
		return 0;
	preempt_off();
	owner_exec(tgid);
	set = index_lookup(tgid);
	if (set && old != task->pid) {
		thread_log(set, old);
		thread_change(set, task->pid, ABI_THREAD_GONE, 0);
		thread_change(set, old, task->pid, 0);
	}
	if (set)
		target_exec(task, bprm);
	else
		exec_note(ABI_EXEC_OTHER, tgid);
	preempt_on();
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	return on_exec_body(task, old_pid, bprm);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec_again, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	return on_exec_body(task, old_pid, bprm);
}

/* For hook.bpf.c, because libbpf cannot link two objects that use the same kernel function. */
extern int slice_catch_up(void);

__noinline int task_catch_up(void)
{
	preempt_off();
	slice_catch_up();
	preempt_on();
	return 0;
}

/* --- the daemon's requests ------------------------------------------------------------------- */

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
		/* an exec has moved it to another set since the daemon looked */
		if (ABI_STATE_SET(old) != ABI_STATE_SET(keep))
			return -EAGAIN;
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

/* Run by the daemon: (enum abi_ctl, tgid, set, MOVE's last argument). */
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
		target_exit(t, tgid, 0);
		target_remove(tgid, ABI_STATE_SET(t->state));
		return 0;
	}
	return -EINVAL;
}

struct forget {
	u32 log, n;
};

static long share_forget(void *map, struct abi_share *key, u64 *share, struct forget *f)
{
	if (key->log == f->log && !bpf_map_delete_elem(&shares, key))
		f->n++;
	return 0;
}

static long thread_forget(void *map, struct abi_share *key, struct abi_thread_share *share,
			  struct forget *f)
{
	if (key->log == f->log && !bpf_map_delete_elem(&thread_shares, key))
		f->n++;
	return 0;
}

/* Run by the daemon: (number of a logged PMC); returns the number of its shares. */
SEC("raw_tp")
int shares_forget(unsigned long long *ctx)
{
	struct forget f = { .log = ctx[0] };

	bpf_for_each_map_elem(&shares, share_forget, &f, 0);
	bpf_for_each_map_elem(&thread_shares, thread_forget, &f, 0);
	return f.n;
}

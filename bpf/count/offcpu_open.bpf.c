// SPDX-License-Identifier: GPL-2.0
/*
 * Waits that have not ended when their PMC stops: run by the daemon over all threads, after the
 * stop.  A thread that has not been switched since the PMC began has no state, and has waited all
 * the time.
 */
#include "bpf/log/number.bpf.h"
#include "count_abi.h"
#include "on_cpu.bpf.h"
#include "offcpu_wait.bpf.h"
#include "targets.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct offcpu_entries_map offcpu_entries SEC(".maps");
struct offcpu_threads_map offcpu_threads SEC(".maps");
struct sets_map sets SEC(".maps");
struct targets_map targets SEC(".maps");
struct sampled_threads_map sampled_threads SEC(".maps");

struct abi_offcpu_stop offcpu_stop = {};

int wait_put_open(u32 place);

/* Threads that wait have not exited. */
static __always_inline u32 open_process(struct task_struct *task)
{
	return nested ? task_process_nested(task) : (u32)task->tgid;
}

/* Whether the thread's process, or its cgroup, is one of the PMC's. */
static __always_inline bool open_concerns(const struct abi_offcpu *p, struct task_struct *task)
{
	u32 tgid = open_process(task), set;
	struct abi_target *t;
	struct abi_set *s;

	if (p->cgroup)
		return task_in_cgroup(task, p->cgroup, p->level);
	t = bpf_map_lookup_elem(&targets, &tgid);
	if (!t)
		return false;
	set = ABI_STATE_SET(t->state);
	s = bpf_map_lookup_elem(&sets, &set);
	return s && s->offcpu >> (offcpu_stop.row & 31) & 1 &&
	       s->soft[offcpu_stop.row & (ABI_SOFT_ROWS - 1)].owner == offcpu_stop.place;
}

static __always_inline void open_put(struct abi_offcpu_wait *w, struct abi_offcpu *p,
				     struct task_struct *task, const struct thread_state *t)
{
	u64 out = task->start_time;

	/* Or the compiler loads by one instruction, which the verifier refuses. */
	barrier_var(out);
	if (t)
		out = t->time;
	if (out < offcpu_stop.since)
		out = offcpu_stop.since;
	if (out >= offcpu_stop.until)
		return;
	if (offcpu_stop.until - out < p->threshold) {
		__sync_fetch_and_add(&p->count.below, 1);
		__sync_fetch_and_add(&p->count.below_ns, offcpu_stop.until - out);
		return;
	}
	offcpu_fill(w, task, t, t ? t->state : (u32)BPF_CORE_READ(task, __state), out,
		    offcpu_stop.until);
	w->pid = open_process(task);
	w->open = 1;
	wait_put_open(offcpu_stop.place);
}

SEC("iter/task")
int visit_waits(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	u32 zero = 0;
	struct abi_offcpu_waits *waits = bpf_map_lookup_elem(&offcpu_waits, &zero);
	struct abi_offcpu *p = offcpu_at(offcpu_stop.place);
	struct thread_state *t;

	if (!task || !waits || !p || task_on_cpu(task) || task->exit_state)
		return 0;
	if (!open_concerns(p, task) || !offcpu_has(p, address_number(task)))
		return 0;
	t = thread_state(task);
	/* A switch that the kernel has hidden. */
	if (t && (!t->off || t->switches != task_switches(task)))
		__sync_fetch_and_add(&p->count.unknown, 1);
	else
		open_put(&waits->slot[ABI_OFFCPU_OPEN], p, task, t);
	return 0;
}

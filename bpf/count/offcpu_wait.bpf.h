/* SPDX-License-Identifier: GPL-2.0 */
/* What is known of threads that wait, and the description of one wait. */
#ifndef PMCBPF_OFFCPU_WAIT_BPF_H
#define PMCBPF_OFFCPU_WAIT_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/log/number.bpf.h"
#include "bpf/log/offcpu.bpf.h"
#include "call.bpf.h"
#include "one_thread.bpf.h"
#include "task_cgroup.bpf.h"

#define TASK_INTERRUPTIBLE   0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_NOLOAD	     0x400	/* … of the kernel's threads that are idle */
#define PF_KTHREAD	     0x200000
#ifdef __TARGET_ARCH_arm64
#define NR_FUTEX 98
#else
#define NR_FUTEX 202
#endif

/* What is known of a thread since its latest switch. */
struct thread_state {
	u64 time;			/* of that switch */
	u64 switches;			/* the scheduler's number of the thread's switches */
	u64 run_delay;			/* the scheduler's time on run queues before it */
	u32 state;			/* the scheduler's state of the thread, as it left */
	u32 off;			/* 1: the switch was away from it … */
	u64 on;				/* … and an earlier one to it at this time */
};

/*
 * The states, by the address of the task: an exec may change a thread's number.  Each thread has an
 * entry of a table to look at, because a look into a hash map takes a hundred instructions; only if
 * the entry is another thread's the state is in the hash map.  An entry is a thread's until it
 * exits.
 */
#define THREAD_ENTRIES_SHIFT 14
struct thread_entry {
	u64 task;			/* 0: the entry is free */
	struct thread_state state;
	u64 pad[2];			/* to a line of the cache */
};
struct offcpu_entries_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << THREAD_ENTRIES_SHIFT);
	__type(key, u32);
	__type(value, struct thread_entry);
};
struct offcpu_threads_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ABI_OFFCPU_THREADS);
	__type(key, u64);
	__type(value, struct thread_state);
};
extern struct offcpu_entries_map offcpu_entries SEC(".maps");
extern struct offcpu_threads_map offcpu_threads SEC(".maps");

static __always_inline struct thread_entry *thread_entry(struct task_struct *task)
{
	u32 at;

	/* Half an address is a number; verifiers do not multiply addresses. */
	asm volatile("%0 = %1" : "=w"(at) : "w"((u32)(u64)task));
	at = (at >> 6) * 0x9e3779b1 >> (32 - THREAD_ENTRIES_SHIFT);
	return bpf_map_lookup_elem(&offcpu_entries, &at);
}

/* NULL: the thread has no state. */
static __always_inline struct thread_state *thread_state(struct task_struct *task)
{
	struct thread_entry *e = thread_entry(task);
	u64 key = (u64)task;

	return e && e->task == key ? &e->state : bpf_map_lookup_elem(&offcpu_threads, &key);
}

/* True if the PMC samples waits of the thread; 0: it samples those of all. */
static __always_inline bool offcpu_has(const struct abi_offcpu *p, u64 task)
{
	struct task_struct *t = (void *)task;

	return !task || sampled_has(p->sampler, BPF_CORE_READ(t, pid), task);
}

static __always_inline u64 task_switches(struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

static __always_inline u32 offcpu_reason(struct task_struct *task, u32 state)
{
	if (!state)
		return ABI_WAIT_PREEMPTED;
	if (state & TASK_UNINTERRUPTIBLE && BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait))
		return ABI_WAIT_DISK;
	if (state & TASK_UNINTERRUPTIBLE && !(state & TASK_NOLOAD))
		return ABI_WAIT_LOCK;
	if (!(task->flags & PF_KTHREAD) && task_call(task) == NR_FUTEX)
		return ABI_WAIT_LOCK;
	return ABI_WAIT_SLEEP;
}

/*
 * The time on run queues, as the scheduler adds it right after this: a wait's since it was woken.
 * Its clock is another one than ours, so the result is no more than the wait.
 */
static __always_inline u64 offcpu_run(struct task_struct *task, u64 before, u64 ns)
{
	u64 queued = task->sched_info.last_queued, run = task->sched_info.run_delay - before;

	if (queued)
		run += BPF_CORE_READ(task, se.cfs_rq, rq, clock) - queued;
	return run < ns ? run : ns;
}

/*
 * Fills in all but the process of a wait from `out` to `now`; `t` is NULL if its beginning was not
 * seen.
 */
static __always_inline void offcpu_fill(struct abi_offcpu_wait *w, struct task_struct *task,
					const struct thread_state *t, u32 state, u64 out,
					u64 now)
{
	long n = bpf_get_task_stack(task, w->kernel, sizeof(w->kernel), 0);
	u64 before = task->sched_info.run_delay;

	/* Or the compiler loads by one instruction, which the verifier refuses. */
	barrier_var(before);
	if (t)
		before = t->run_delay;
	w->nkernel = n > 0 ? (u64)n / 8 : 0;
	w->out = out;
	w->on = t ? t->on : out;
	w->in = now;
	w->tid = task_thread(task);
	w->kernel_thread = !!(task->flags & PF_KTHREAD);
	/* Of a wait whose beginning was not seen, the last part on a run queue is known. */
	w->run = offcpu_run(task, before, now - out);
	w->reason = offcpu_reason(task, state);
	if (w->reason == ABI_WAIT_PREEMPTED)
		w->run = 0;
	w->task = (u64)task;
}

#endif

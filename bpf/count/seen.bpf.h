/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Hidden switches.  Some kernels emit no sched_switch when certain tasks leave a CPU (a sandbox's
 * own, for example).  A slice then lasts too long, or never begins, and its count would be silently
 * wrong.
 *
 * The scheduler counts each CPU's switches, and increments that number right before it reports one.
 * From one report to the next it grows by 1, unless switches were hidden in between.  A program
 * that runs on the CPU at any other moment finds the number of the last report.  If the number is
 * not readable, the next task of the last report stands for it: that finds all hidden switches
 * except those that lead back to the same task.
 *
 * While no slice is open, `outside` is the next task of the last report.  It is cheaper to compare
 * than the number, and a switch that leads back to the same task has ended no slice.
 *
 * The time of a hidden switch is unknown.  Events counted in the open slice since the last report
 * may be another task's, and events of the task that runs now are in no slice: the PMCs of both
 * sets have lost a slice, and reads are refused until they are written.  There are two exceptions.
 * The programs of page faults run in the task itself and compare the number first, so that a slice
 * begins with its first fault at the latest.  And a source that has not moved has lost nothing.
 */
#ifndef PMCBPF_SEEN_BPF_H
#define PMCBPF_SEEN_BPF_H

#include "maps.bpf.h"

#define SWITCHES_COUNTED bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq)

static __always_inline struct abi_open *open_of(u32 cpu)
{
	return &open_slice[cpu & (ABI_MAX_CPUS - 1)];
}

/* The value of `seen` while `task` runs, as long as no switch is hidden. */
static __always_inline u64 seen_while(struct task_struct *task)
{
	if (SWITCHES_COUNTED)
		return task->se.cfs_rq->rq->nr_switches;
	return (u64)task;
}

static __always_inline u32 seen_since(const struct abi_open *o, struct task_struct *task, u64 now,
				      u32 due)
{
	if (o->outside)
		return o->outside != (u64)task;
	if (!o->seen)
		return 0;
	if (SWITCHES_COUNTED)
		return now - o->seen - due;
	return now != o->seen;
}

/* At a reported switch: returns a lower bound of the switches hidden since the last report. */
static __always_inline u32 seen_switch(struct abi_open *o, struct task_struct *prev,
				       struct task_struct *next)
{
	u64 now = seen_while(prev);
	u32 hidden = seen_since(o, prev, now, 1);

	if (SWITCHES_COUNTED)
		o->seen = now;
	else
		o->seen = (u64)next;
	return hidden;
}

/* The same at any other moment. */
static __always_inline u32 seen_now(struct abi_open *o, struct task_struct *task)
{
	u64 now = seen_while(task);
	u32 hidden = seen_since(o, task, now, 0);

	o->seen = now;
	return hidden;
}

/*
 * After a change of slices: `task` runs now.  In a nested PID namespace looking up the number of a
 * task takes more than the comparison saves.
 */
static __always_inline void seen_outside(struct abi_open *o, struct task_struct *task)
{
	o->outside = o->set || nested ? 0 : (u64)task;
}

static __always_inline u32 seen_task(struct abi_open *o, struct task_struct *task)
{
	return switches_watched ? seen_now(o, task) : 0;
}

/* True if a switch was hidden; a cheap test for programs that run in the task. */
static __always_inline bool seen_differs(u32 cpu, struct task_struct *task)
{
	const struct abi_open *o = open_of(cpu);

	if (!switches_watched)
		return false;
	return o->outside ? o->outside != (u64)task : o->seen != seen_while(task);
}

#endif

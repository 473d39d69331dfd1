/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The numbers of processes and threads in the daemon's PID namespace, as in its /proc and in perf's
 * records.  In the initial namespace they are the task's own.
 */
#ifndef PMCBPF_NUMBER_BPF_H
#define PMCBPF_NUMBER_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "log_abi.h"

extern const volatile bool nested;	/* the daemon is in another one … */
extern struct abi_level level;		/* … which is this */

/* An address as a number, as functions that are checked separately take it. */
static __always_inline u64 address_number(const void *address)
{
	u64 at = (u64)address, number = 0;

	bpf_probe_read_kernel(&number, sizeof(number), &at);
	return number;
}

/* A process's number, `depth` PID namespaces below the initial one. */
static __always_inline struct upid *pid_at(struct pid *pid, u32 depth)
{
	return (void *)pid + bpf_core_field_offset(struct pid, numbers) +
	       depth * bpf_core_type_size(struct upid);
}

/* 0: it has no number in the daemon's namespace. */
static __always_inline u32 pid_number(struct pid *pid)
{
	struct upid *at;

	if (!pid || BPF_CORE_READ(pid, level) < level.depth)
		return 0;
	at = pid_at(pid, level.depth);
	return BPF_CORE_READ(at, ns, ns.inum) == level.inum ? BPF_CORE_READ(at, nr) : 0;
}

/* Also 0 for a process that has been reaped: its last switch may come later. */
static __always_inline u32 task_process_nested(struct task_struct *task)
{
	u32 type = bpf_core_enum_value(enum pid_type, PIDTYPE_TGID);
	struct signal_struct *sig = BPF_CORE_READ(task, signal);
	struct pid *pid = NULL;

	if (!sig)
		return 0;
	bpf_probe_read_kernel(&pid, sizeof(pid),
			      (void *)sig + bpf_core_field_offset(struct signal_struct, pids) +
			      type * sizeof(pid));
	return pid_number(pid);
}

/* A thread's number in its own, innermost PID namespace. */
static __always_inline u32 task_thread_innermost(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	struct upid *at = pid ? pid_at(pid, BPF_CORE_READ(pid, level)) : NULL;

	return at ? BPF_CORE_READ(at, nr) : 0;
}

static __always_inline u32 task_thread(struct task_struct *task)
{
	return nested ? pid_number(BPF_CORE_READ(task, thread_pid)) : (u32)BPF_CORE_READ(task, pid);
}

#endif

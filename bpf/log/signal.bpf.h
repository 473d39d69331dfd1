/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Signals of a sampling PMC, each to the thread in which the sample was taken.
 *
 * A signal that a thread neither handles nor blocks would end its process, and the process may have
 * changed its mind since the PMC started, or execute another program now.  So the program looks at
 * the thread's own state before each signal.  Signals that it does not send, or that the kernel
 * does not take, are counted.
 */
#ifndef PMCBPF_SIGNAL_BPF_H
#define PMCBPF_SIGNAL_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/unwind/walk.bpf.h"
#include "log_abi.h"

#define PF_IO_WORKER 0x10		/* a thread of io_uring, which runs no handlers */
#define SIGNAL_IGNORE 1ul		/* SIG_IGN; SIG_DFL is 0 */

/*
 * The thread handles the signal, or blocks it to wait for it.  That it blocks it is not enough,
 * because the library blocks signals during its calls.
 */
static __always_inline bool signal_is_taken(struct task_struct *task, u32 signal, bool waits)
{
	/* A number to the verifier: Linux 6.1 adds nothing to a pointer of a known type. */
	const void *hand = BPF_CORE_READ(task, sighand);
	struct k_sigaction *action;
	unsigned long handler = 0;

	if (!hand)
		return false;
	action = (void *)hand + bpf_core_field_offset(task->sighand->action) +
		 (signal - 1) * bpf_core_type_size(struct k_sigaction);
	BPF_CORE_READ_INTO(&handler, action, sa.sa_handler);
	return handler > SIGNAL_IGNORE ||
	       (!handler && waits &&
		(task->blocked.sig[0] | task->real_blocked.sig[0]) >> (signal - 1) & 1);
}

/* The thread is about to run another program, which would get the signal. */
static __always_inline bool signal_in_exec(struct task_struct *task, u64 ip)
{
	return ip >> 63 && walk_in_exec((void *)bpf_task_pt_regs(task));
}

/* False: the PMC is to take no more samples. */
static __always_inline bool signal_admits(struct abi_sampler *of)
{
	if (!of->limited)
		return true;
	if ((s32)of->left <= 0)
		return false;
	if ((s32)__sync_fetch_and_add(&of->left, -1) > 0)
		return true;
	/* Another CPU took the last one. */
	__sync_fetch_and_add(&of->left, 1);
	return false;
}

/* `ip`: of the sample. */
static __always_inline void signal_raise(struct abi_sampler *of, u64 ip)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 signal = of->signal;

	if (!signal)
		return;
	if (task->flags & PF_IO_WORKER || !signal_is_taken(task, signal, of->waits) ||
	    signal_in_exec(task, ip) || bpf_send_signal_thread(signal))
		__sync_fetch_and_add(&of->unsent, 1);
}

#endif

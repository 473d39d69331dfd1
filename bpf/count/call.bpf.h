/* SPDX-License-Identifier: GPL-2.0 */
/* The system call that a thread is in, or made last. */
#ifndef PMCBPF_CALL_BPF_H
#define PMCBPF_CALL_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define TS_COMPAT 0x2		/* thread_info.status on x86: a call of 32-bit code */
#define TIF_32BIT 22		/* thread_info.flags on arm64: a 32-bit program */

/* True for a 32-bit program, whose calls have other numbers. */
static __always_inline bool task_call_compat(const struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return BPF_CORE_READ(task, thread_info.flags) >> TIF_32BIT & 1;
#else
	return BPF_CORE_READ(task, thread_info.status) & TS_COMPAT;
#endif
}

static __always_inline u32 regs_call(struct pt_regs *regs)
{
#ifdef __TARGET_ARCH_arm64
	return (u32)BPF_CORE_READ(regs, syscallno);
#else
	return (u32)BPF_CORE_READ(regs, orig_ax);
#endif
}

static __always_inline u32 task_call(struct task_struct *task)
{
	return regs_call((struct pt_regs *)bpf_task_pt_regs(task));
}

#endif

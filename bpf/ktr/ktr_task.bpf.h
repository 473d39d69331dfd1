/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes: SCHED, RUNQ, PROC, SYSC, SIG, PTRACE; and GEN, with the kernel's messages and the
 * daemon's entries.
 */
#ifndef PMCBPF_KTR_TASK_BPF_H
#define PMCBPF_KTR_TASK_BPF_H

#include "ktr.bpf.h"

#define PRINTK_PARTS 4		/* maximum entries of a message */

#define TASK_INTERRUPTIBLE   0x1
#define TASK_UNINTERRUPTIBLE 0x2

#ifdef __TARGET_ARCH_arm64
#define NR_PTRACE 117
#else
#define NR_PTRACE 101
#endif

/* --- the daemon's -------------------------------------------------------------------------- */

SEC("syscall")
int ktr_order(struct ktr_order *o)
{
	u32 at = o->at;
	int err = -1;
	u64 *slot;

	if (o->id == KTR_EVENTS) {
		slot = bpf_map_lookup_elem(&ktr_rings, &at);
		if (!slot)
			return -1;
		__builtin_memcpy(slot, o->words, KTR_ENTRY_SIZE);
		return 0;
	}
	/* The daemon's own system call returns later: its entry would come after the freeze. */
	if (o->id == KTR_EV_FREEZE)
		ktr.mask = 0;
	KTR_ENTRY_ALWAYS(o->id, w) {
		w.e->ktr_tid = at;
		__builtin_memcpy(&w.e->ktr_parm1, o->words, 5 * sizeof(u64));
		err = 0;
	}
	return err;
}

/* --- GEN ----------------------------------------------------------------------------------- */

KTR_RAW_TP(console, const char *text, unsigned long len)
{
	KTR_ENTRY(PRINTK, w)
		ktr_line(&w.e->ktr_parm1, text, len);
	for (int i = 1; i < PRINTK_PARTS; i++) {
		u64 at = i * KTR_LINE;

		if (len <= at)
			break;
		KTR_ENTRY(PRINTK_ON, w)
			ktr_line(&w.e->ktr_parm1, text + at, len - at);
	}
	return 0;
}

/* --- SCHED, RUNQ --------------------------------------------------------------------------- */

static __always_inline void thread(struct ktr_entry *e, struct task_struct *t)
{
	ktr_text(&e->ktr_parm1, t->comm);
	e->ktr_parm3 = t->pid;
	e->ktr_parm4 = t->prio;
}

KTR_TP(sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
       unsigned int state)
{
	if (preempt || !state) {
		KTR_ENTRY(RUNNABLE, w)
			thread(w.e, prev);
	} else if (state & TASK_INTERRUPTIBLE) {
		KTR_ENTRY(SLEEP, w)
			thread(w.e, prev);
	} else if (state & TASK_UNINTERRUPTIBLE) {
		KTR_ENTRY(BLOCK, w)
			thread(w.e, prev);
	} else {
		KTR_ENTRY(GONE, w)
			thread(w.e, prev);
	}
	KTR_ENTRY(RUN, w) {
		w.e->ktr_tid = next->pid;
		thread(w.e, next);
	}
	return 0;
}

KTR_TP(sched_wakeup, struct task_struct *t)
{
	KTR_ENTRY(WOKEUP, w)
		thread(w.e, t);
	CTR3(WAKEUP, t->pid, t->prio, t->thread_info.cpu);
	return 0;
}

KTR_TP(sched_wakeup_new, struct task_struct *t)
{
	KTR_ENTRY(BORN, w)
		thread(w.e, t);
	CTR3(WAKEUP_NEW, t->pid, t->prio, t->thread_info.cpu);
	return 0;
}

KTR_TP(sched_migrate_task, struct task_struct *t, int cpu)
{
	KTR_ENTRY(MIGRATED, w)
		thread(w.e, t);
	CTR4(MIGRATE, t->pid, t->prio, t->thread_info.cpu, cpu);
	return 0;
}

/* --- PROC ---------------------------------------------------------------------------------- */

KTR_TP(sched_process_fork, struct task_struct *parent, struct task_struct *child)
{
	CTR2(FORK, parent->pid, child->pid);
	return 0;
}

KTR_TP(sched_process_exec, struct task_struct *t)
{
	KTR_ENTRY(EXEC, w) {
		w.e->ktr_parm1 = t->pid;
		ktr_text(&w.e->ktr_parm2, t->comm);
	}
	return 0;
}

KTR_TP(sched_process_exit, struct task_struct *t)
{
	KTR_ENTRY(EXIT, w) {
		w.e->ktr_parm1 = t->pid;
		w.e->ktr_parm2 = (u32)t->exit_code;
		ktr_text(&w.e->ktr_parm3, t->comm);
	}
	return 0;
}

KTR_TP(task_newtask, struct task_struct *t, u64 flags)
{
	KTR_ENTRY(NEWTASK, w) {
		w.e->ktr_parm1 = t->pid;
		w.e->ktr_parm2 = flags;
		ktr_text(&w.e->ktr_parm3, t->comm);
	}
	return 0;
}

KTR_TP(task_rename, struct task_struct *t, const char *to)
{
	KTR_ENTRY(RENAME, w) {
		w.e->ktr_parm1 = t->pid;
		ktr_text(&w.e->ktr_parm2, t->comm);
		ktr_string(&w.e->ktr_parm4, to);
	}
	return 0;
}

/* --- SYSC, PTRACE -------------------------------------------------------------------------- */

KTR_RAW_TP(sys_enter, struct pt_regs *regs, long id)
{
	CTR2(SYSCALL, bpf_get_current_task(), id);
	if (id == NR_PTRACE)
		CTR2(PTRACE, PT_REGS_PARM1_CORE_SYSCALL(regs), PT_REGS_PARM2_CORE_SYSCALL(regs));
	return 0;
}

KTR_RAW_TP(sys_exit, struct pt_regs *regs, long ret)
{
	CTR3(SYSRET, bpf_get_current_task(), ret < 0 && ret >= -4095 ? -ret : 0, ret);
	return 0;
}

/* --- SIG ----------------------------------------------------------------------------------- */

/* Small values are not addresses but stand for signals that the kernel itself sends. */
static __always_inline int signal_code(struct kernel_siginfo *info)
{
	return (unsigned long)info > 2 ? BPF_CORE_READ(info, si_code) : 0;
}

KTR_RAW_TP(signal_generate, int sig, struct kernel_siginfo *info, struct task_struct *t, int group,
	   int result)
{
	CTR4(SIGNAL, sig, BPF_CORE_READ(t, pid), signal_code(info), result);
	return 0;
}

KTR_RAW_TP(signal_deliver, int sig, struct kernel_siginfo *info)
{
	CTR2(DELIVER, sig, signal_code(info));
	return 0;
}

/* Before Linux 6.9 the argument was the victim's pid; distributions differ. */
KTR_RAW_TP(mark_victim, struct task_struct *victim)
{
	KTR_ENTRY(OOM_KILL, w) {
		if ((u64)victim >> 32) {
			w.e->ktr_parm1 = BPF_CORE_READ(victim, pid);
			ktr_text(&w.e->ktr_parm2,
				 (void *)victim + bpf_core_field_offset(victim->comm));
		} else {
			w.e->ktr_parm1 = (u64)victim;
			w.e->ktr_parm2 = w.e->ktr_parm3 = 0;
		}
	}
	return 0;
}

#endif

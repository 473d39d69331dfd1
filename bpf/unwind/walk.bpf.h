/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks the current thread's user stack by tables.  It runs in any context: what it reads may be
 * changed at the same time by this CPU's own interrupted code or by others, so each object carries
 * a generation that is compared before and after.
 */
#ifndef PMCBPF_WALK_BPF_H
#define PMCBPF_WALK_BPF_H

#include "tables.bpf.h"

#ifdef __TARGET_ARCH_arm64
#define WALK_ARM64	 1
#define WALK_ADDRESS_MASK ((1ull << 48) - 1)	/* without the signature of a return address */
#define WALK_REGS	 32			/* x0 to x30, SP */
#define WALK_IS_32(regs) ((regs)->pstate & 0x10)
#define WALK_CALL(regs)	 ((regs)->syscallno)
#define WALK_EXECVE	 221
#define WALK_EXECVEAT	 281
#else
#define WALK_ARM64	 0
#define WALK_ADDRESS_MASK (~0ull)
#define WALK_REGS	 16			/* in DWARF's order */
#define WALK_IS_32(regs) ((regs)->cs == 0x23)	/* __USER32_CS */
#define WALK_CALL(regs)	 ((int)(regs)->orig_ax)
#define WALK_EXECVE	 59
#define WALK_EXECVEAT	 322
#endif

#define WALK_KERNEL_THREAD 0x200000		/* PF_KTHREAD */

#define UNWIND_READ(arg, to, size, address) bpf_probe_read_user(to, size, (void *)(address))
#define UNWIND_READ_FRAME(arg, to, address)                                                   \
	window_read(&((struct walk *)(arg))->window, to, address, arg)
#define UNWIND_REGISTER(arg, number, to)                                                      \
	((number) < WALK_REGS ?                                                                \
		 (*(to) = ((struct walk *)(arg))->reg[(number) & (WALK_REGS - 1)], 0) : 1)
#define UNWIND_FILE(arg, number)  bpf_map_lookup_elem(&unwind_files, &(number))
#define UNWIND_WORDS(arg, chunk)  chunk_words(chunk)
#include "frame.bpf.h"

/*
 * Whether the thread's registers are those with which its program entered the kernel.  A kernel
 * thread has no program.  In execve(2) they are the old program's until the kernel sets them, a
 * moment after the ends of the new one's code.  Where no segment is executable these are 0 and ~0.
 */
static __always_inline bool walk_has_registers(struct task_struct *task)
{
	struct mm_struct *mm = task->mm;

	return !(task->flags & WALK_KERNEL_THREAD) && mm && (mm->end_code || mm->start_code);
}

static __always_inline bool walk_in_exec(const struct pt_regs *regs)
{
	return WALK_CALL(regs) == WALK_EXECVE || WALK_CALL(regs) == WALK_EXECVEAT;
}

/* Asks the daemon for what is missing; it answers for later samples. */
static __always_inline void walk_ask(u32 tgid, u32 pid)
{
	struct unwind_note note = { .kind = UNWIND_NOTE_PROCESS, .tgid = tgid, .pid = pid };

	bpf_ringbuf_output(&unwind_notes, &note, sizeof(note), 0);
}

#ifdef __TARGET_ARCH_arm64
static __always_inline void walk_begin(struct walk *w, struct pt_regs *regs)
{
	bpf_probe_read_kernel(w->reg, 31 * sizeof(u64), regs->regs);
	w->reg[31] = regs->sp;
	w->r.pc = regs->pc;
	w->r.sp = regs->sp;
	w->r.fp = w->reg[29];
	w->r.lr = w->reg[30];
}
#else
static __always_inline void walk_begin(struct walk *w, struct pt_regs *regs)
{
	w->reg[0] = regs->ax, w->reg[1] = regs->dx, w->reg[2] = regs->cx, w->reg[3] = regs->bx;
	w->reg[4] = regs->si, w->reg[5] = regs->di, w->reg[6] = regs->bp, w->reg[7] = regs->sp;
	w->reg[8] = regs->r8, w->reg[9] = regs->r9, w->reg[10] = regs->r10;
	w->reg[11] = regs->r11, w->reg[12] = regs->r12, w->reg[13] = regs->r13;
	w->reg[14] = regs->r14, w->reg[15] = regs->r15;
	w->r.pc = regs->ip;
	w->r.sp = regs->sp;
	w->r.fp = regs->bp;
}
#endif

/* The process, or how the chain ends without it. */
static __always_inline struct unwind_process *walk_process(struct walk *w,
							   struct task_struct *task, u32 pid)
{
	u32 tgid = task->tgid;
	struct unwind_process *p = bpf_map_lookup_elem(&unwind_processes, &tgid);

	w->end = UNWIND_CUT_PROCESS;
	if (!p || p->stale == UNWIND_STALE || p->exec != (u32)task->self_exec_id) {
		walk_ask(tgid, pid);
		if (!p || p->exec != (u32)task->self_exec_id)
			return NULL;
	}
	w->gen = p->gen;
	w->end = UNWIND_CUT_CHANGING;
	return w->gen & 1 ? NULL : p;
}

/*
 * Walks the current thread's stack from where it is, or from where it entered the kernel, and puts
 * at most `room` addresses to to[n], to[n + 1] …, of WALK_ROOM.  Then w->n is the number of
 * addresses in `to`, and w->end says how the chain ended; 0: the thread is in no program's code.
 * `pid`: the process's number in the daemon's PID namespace.
 */
static __always_inline void walk_user(struct walk *w, u64 *to, u32 n, u32 room, u32 pid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct walk_pointers p = { .w = w, .to = to };
	struct pt_regs *regs;

	w->n = w->first = n;
	w->room = n + room;
	w->end = w->pointers = w->python = 0;
	if (!walk_has_registers(task))
		return;
	regs = (void *)bpf_task_pt_regs(task);
	walk_begin(w, regs);
	w->r.mask = WALK_ADDRESS_MASK;
	w->r.first = w->r.fp_known = 1;
	w->r.lr_known = WALK_ARM64;
	w->r.bx_known = !WALK_ARM64;
	w->r.bx_at = 0;
	/* A system call's instruction is behind it; the next one may be another function's. */
	w->r.exact = WALK_CALL(regs) == -1;
	w->mapping = w->file = w->window.room = 0;
	if (WALK_IS_32(regs))
		w->end = UNWIND_CUT_BITS32;
	else if (w->r.sp == task->mm->start_stack)	/* nothing has been called yet */
		w->end = UNWIND_WHOLE;
	else
		p.process = walk_process(w, task, pid);
	if (p.process) {
		bpf_loop(WALK_ROOM, walk_frame, &p, 0);
		/* In an exec of unknown mappings the registers may be the old program's. */
	} else if (n < WALK_ROOM && !(w->end == UNWIND_CUT_PROCESS && walk_in_exec(regs))) {
		to[n] = w->r.pc;
		w->n = n + 1;
	}
	/* Code that runs is mapped: a change was missed. */
	if (w->end == UNWIND_CUT_UNMAPPED && w->r.first)
		walk_ask(task->tgid, pid);
}

#endif

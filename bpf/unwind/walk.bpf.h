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
#else
#define WALK_ARM64	 0
#define WALK_ADDRESS_MASK (~0ull)
#define WALK_REGS	 16			/* in DWARF's order */
#define WALK_IS_32(regs) ((regs)->cs == 0x23)	/* __USER32_CS */
#define WALK_CALL(regs)	 ((int)(regs)->orig_ax)
#endif

#define WALK_KERNEL_THREAD 0x200000		/* PF_KTHREAD */
#define WALK_ROOM	   1025			/* addresses of a scratch array: see log_abi.h */

#define UNWIND_READ(arg, to, size, address) bpf_probe_read_user(to, size, (void *)(address))
#define UNWIND_REGISTER(arg, number, to)                                                      \
	((number) < WALK_REGS ?                                                                \
		 (*(to) = ((const u64 *)(arg))[(number) & (WALK_REGS - 1)], 0) : 1)
#include "unwind.bpf.h"

/*
 * Scratch memory of the context in which a program walks.  The state of a walk is here and not on
 * the stack, because the verifier would follow each of its values from frame to frame.
 */
struct walk {
	u64 reg[WALK_REGS];
	struct unwind_regs r;
	u32 n, room;			/* so many addresses are taken, and may be */
	u32 gen;			/* of the process */
	u32 mapping;			/* of the frame before; callers are often in its file */
	u32 end, pointers;
};

struct walk_pointers {
	struct walk *w;
	const struct unwind_process *process;
	u64 *to;			/* WALK_ROOM addresses */
};

/* The rule for an offset in the file: UNWIND_CALLER, or how the chain ends. */
static __always_inline int walk_rule(struct unwind_file *f, u64 offset, struct unwind_rule *rule)
{
	const u32 gen = f->gen;
	const u32 *words;
	u64 address = 0;
	u32 low, page, at, rows, number;
	bool found = false;

	if (f->state == UNWIND_FILE_POINTERS)
		return UNWIND_CUT_RULE;
	if (f->state == UNWIND_FILE_REFUSED)
		return UNWIND_CUT_FORM;
	if (f->state != UNWIND_FILE_READY || gen & 1)
		return UNWIND_CUT_TABLE;
	for (u32 i = 0; i < UNWIND_SEGMENTS; i++)
		if (offset - f->segment[i].offset < f->segment[i].size) {
			address = offset + f->segment[i].add - f->base;
			found = true;
		}
	page = address >> UNWIND_PAGE_SHIFT;
	low = address & (UNWIND_PAGE_SIZE - 1);
	if (!found || page >= f->npages)
		return UNWIND_CUT_RULE;
	words = chunk_words(f->chunk);
	if (!words)
		return UNWIND_CUT_CHANGING;
	at = f->pages + page * UNWIND_PAGE_WORDS;
	rows = words[at & UNWIND_ROW_MASK];
	at = words[(at + 1) & UNWIND_ROW_MASK];
	if (!at)
		return UNWIND_CUT_RULE;
	words = chunk_words(at - 1);
	if (!words)
		return UNWIND_CUT_CHANGING;
	number = unwind_row_find(words, UNWIND_PAGE_FIRST(rows), UNWIND_PAGE_COUNT(rows), low);
	words = chunk_words(f->chunk);
	if (!words)
		return UNWIND_CUT_CHANGING;
	at = (f->rules + number * UNWIND_RULE_WORDS) & UNWIND_ROW_MASK & ~(UNWIND_RULE_WORDS - 1);
	*rule = *(const struct unwind_rule *)(words + at);
	if (!f->used)
		f->used = 1;
	return *(volatile u32 *)&f->gen == gen ? UNWIND_CALLER : UNWIND_CUT_CHANGING;
}

/* Asks the daemon for what is missing; it answers for later samples. */
static __always_inline void walk_ask(u32 tgid, u32 pid)
{
	struct unwind_note note = { .kind = UNWIND_NOTE_PROCESS, .tgid = tgid, .pid = pid };

	bpf_ringbuf_output(&unwind_notes, &note, sizeof(note), 0);
}

static __always_inline int walk_mapped(struct walk *w, const struct unwind_process *p, u64 place,
				       struct unwind_rule *rule)
{
	const struct unwind_mapping *m = &p->map[w->mapping & (UNWIND_MAPPINGS - 1)];
	struct unwind_file *f;
	u32 file;
	u64 offset;

	if (w->mapping >= p->n || !mapping_has(m, place)) {
		w->mapping = mapping_below(p, place);
		m = &p->map[w->mapping & (UNWIND_MAPPINGS - 1)];
	}
	offset = place - m->origin;
	file = m->file;
	if (w->mapping >= p->n || !mapping_has(m, place))
		return p->stale == UNWIND_STALE ? UNWIND_CUT_CHANGING :
		       p->stale ? UNWIND_CUT_PROCESS : UNWIND_CUT_UNMAPPED;
	if (*(volatile u32 *)&p->gen != w->gen)
		return UNWIND_CUT_CHANGING;
	if (file == UNWIND_FILE_NONE)
		return UNWIND_CUT_RULE;
	f = bpf_map_lookup_elem(&unwind_files, &file);
	return f ? walk_rule(f, offset, rule) : UNWIND_CUT_TABLE;
}

/* One frame: puts its address, and goes to its caller. */
static inline long walk_frame(u32 i, struct walk_pointers *p)
{
	struct walk *w = p->w;
	struct unwind_rule rule;
	u32 n = w->n;
	int end;

	if (n >= w->room || n >= WALK_ROOM) {
		w->end = UNWIND_CUT_DEPTH;
		return 1;
	}
	p->to[n] = w->r.pc;
	w->n = n + 1;
	end = walk_mapped(w, p->process, unwind_place_of(&w->r), &rule);
	if (end == UNWIND_CALLER)
		end = unwind_step(&w->r, &rule, WALK_ARM64, w->reg);
	if (end == UNWIND_CUT_RULE) {
		end = unwind_step_pointer(&w->r, w->reg);
		w->pointers |= end == UNWIND_CALLER;
	}
	if (end == UNWIND_CALLER && !w->r.pc)
		end = UNWIND_WHOLE;
	if (end == UNWIND_CALLER && w->r.pc >> 63)
		end = UNWIND_CUT_KERNEL;
	if (end == UNWIND_CALLER)
		return 0;
	w->end = end;
	return 1;
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
 * addresses in `to`, and w->end says how the chain ended; 0: a kernel thread has none.  `pid`: the
 * process's number in the daemon's PID namespace.
 */
static __always_inline void walk_user(struct walk *w, u64 *to, u32 n, u32 room, u32 pid)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct walk_pointers p = { .w = w, .to = to };
	struct pt_regs *regs;

	w->n = n;
	w->room = n + room;
	w->end = w->pointers = 0;
	if (task->flags & WALK_KERNEL_THREAD || !task->mm)
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
	w->mapping = 0;
	if (WALK_IS_32(regs))
		w->end = UNWIND_CUT_BITS32;
	else
		p.process = walk_process(w, task, pid);
	if (p.process) {
		bpf_loop(WALK_ROOM, walk_frame, &p, 0);
	} else if (n < WALK_ROOM) {
		to[n] = w->r.pc;
		w->n = n + 1;
	}
	/* Code that runs is mapped: a change was missed. */
	if (w->end == UNWIND_CUT_UNMAPPED && w->n == n + 1)
		walk_ask(task->tgid, pid);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Walks a stack frame by frame, over the tables of files and the mappings of a process.  BPF
 * programs walk the running thread's stack; the daemon goes on with walks for which a table came
 * too late, over a copy of the stack.  Before the include, the user defines what unwind.bpf.h wants
 * (its argument is the struct walk), and
 *
 *	WALK_ARM64, WALK_REGS
 *	UNWIND_FILE(arg, number)	the struct unwind_file; NULL: there is none
 *	UNWIND_WORDS(arg, chunk)	the words of a chunk; NULL: there is none
 */
#ifndef PMCBPF_FRAME_BPF_H
#define PMCBPF_FRAME_BPF_H

#include "unwind_abi.h"

#include "window.bpf.h"

#define WALK_ROOM 1025			/* addresses of a scratch array: see log_abi.h */

/*
 * Scratch memory of the context in which a program walks.  The state of a walk is here and not on
 * the stack, because the verifier would follow each of its values from frame to frame.
 */
struct walk {
	__u64 reg[WALK_REGS];
	struct unwind_regs r;
	struct unwind_rule rule;	/* of the frame */
	__u32 n, room;			/* so many addresses are taken, and may be … */
	__u32 first;			/* … from this one on */
	__u32 gen;			/* of the process */
	__u32 mapping;			/* of the frame before; callers are often in its file */
	__u32 file;			/* of that mapping */
	__u32 end, pointers;
	__u32 place;			/* for hits: of the hit's sample */
	__u32 python, python_gen;	/* a file of the chain with an interpreter, and its gen */
	__u64 add;			/* of the frame's segment */
	__u64 python_bias;		/* from that file's addresses to the process's */
	__u64 sp[WALK_ROOM];		/* of each frame */
	struct window window;
};

struct walk_pointers {
	struct walk *w;
	const struct unwind_process *process;
	__u64 *to;			/* WALK_ROOM addresses */
};

#include "unwind.bpf.h"
#include "unwind_rows.h"

static inline bool mapping_has(const struct unwind_mapping *m, __u64 address)
{
	return address - m->start < (__u64)m->pages << UNWIND_MAPPING_SHIFT;
}

/* The last mapping that begins at or below the address: an index, of nothing if there is none. */
static inline __u32 mapping_below(const struct unwind_process *p, __u64 address)
{
	__u32 at = 0, n = p->n;

	for (int i = 0; i < 8 && n > 1; i++) {
		const __u32 half = n >> 1;

		if (p->map[(at + half) & (UNWIND_MAPPINGS - 1)].start <= address)
			at += half;
		n -= half;
	}
	return at & (UNWIND_MAPPINGS - 1);
}

/* Puts the addend of the segment that has an offset of the file.  False: none has. */
static inline bool walk_segment(struct walk *w, const struct unwind_file *f, __u64 offset)
{
	bool found = false;

	for (__u32 i = 0; i < UNWIND_SEGMENTS; i++)
		if (offset - f->segment[i].offset < f->segment[i].size) {
			w->add = f->segment[i].add;
			found = true;
		}
	return found;
}

/* Puts the rule for an offset in the file: UNWIND_CALLER, or how the chain ends. */
static inline int walk_rule(struct walk *w, struct unwind_file *f, __u64 offset)
{
	const __u32 gen = f->gen;
	const __u32 *words;
	__u32 low, page, at, rows, number;
	__u64 address;
	bool found;

	if (f->state == UNWIND_FILE_POINTERS)
		return UNWIND_CUT_RULE;
	if (f->state == UNWIND_FILE_REFUSED)
		return UNWIND_CUT_FORM;
	if (f->state != UNWIND_FILE_READY || gen & 1)
		return UNWIND_CUT_TABLE;
	found = walk_segment(w, f, offset);
	address = offset + w->add - f->base;
	page = address >> UNWIND_PAGE_SHIFT;
	low = address & (UNWIND_PAGE_SIZE - 1);
	if (!found || page >= f->npages)
		return UNWIND_CUT_RULE;
	words = UNWIND_WORDS(w, f->chunk);
	if (!words)
		return UNWIND_CUT_CHANGING;
	at = f->pages + page * UNWIND_PAGE_WORDS;
	rows = words[at & UNWIND_ROW_MASK];
	at = words[(at + 1) & UNWIND_ROW_MASK];
	if (!at)
		return UNWIND_CUT_RULE;
	words = UNWIND_WORDS(w, at - 1);
	if (!words)
		return UNWIND_CUT_CHANGING;
	number = unwind_row_find(words, UNWIND_PAGE_FIRST(rows), UNWIND_PAGE_COUNT(rows), low);
	words = UNWIND_WORDS(w, f->chunk);
	if (!words)
		return UNWIND_CUT_CHANGING;
	at = (f->rules + number * UNWIND_RULE_WORDS) & UNWIND_ROW_MASK & ~(UNWIND_RULE_WORDS - 1);
	w->rule = *(const struct unwind_rule *)(words + at);
	if (!f->used)
		f->used = 1;
	return *(volatile __u32 *)&f->gen == gen ? UNWIND_CALLER : UNWIND_CUT_CHANGING;
}

/* The file has an interpreter of Python; walk_segment() has found its code. */
static inline void walk_python(struct walk *w, __u32 file, const struct unwind_file *f,
			       __u64 origin)
{
	w->python = file;
	w->python_gen = f->gen;
	w->python_bias = origin - w->add;
}

static inline int walk_mapped(struct walk *w, const struct unwind_process *p, __u64 place)
{
	const struct unwind_mapping *m = &p->map[w->mapping & (UNWIND_MAPPINGS - 1)];
	struct unwind_file *f;
	__u32 file;
	__u64 origin;
	int end;

	if (w->mapping >= p->n || !mapping_has(m, place)) {
		w->mapping = mapping_below(p, place);
		m = &p->map[w->mapping & (UNWIND_MAPPINGS - 1)];
	}
	origin = m->origin;
	w->file = file = m->file;
	if (w->mapping >= p->n || !mapping_has(m, place))
		return p->stale == UNWIND_STALE ? UNWIND_CUT_CHANGING :
		       p->stale ? UNWIND_CUT_PROCESS : UNWIND_CUT_UNMAPPED;
	if (*(volatile __u32 *)&p->gen != w->gen)
		return UNWIND_CUT_CHANGING;
	if (file == UNWIND_FILE_NONE)
		return UNWIND_CUT_RULE;
	f = UNWIND_FILE(w, file);
	if (!f)
		return UNWIND_CUT_TABLE;
	end = walk_rule(w, f, place - origin);
	if (end == UNWIND_CALLER && f->python)
		walk_python(w, file, f, origin);
	return end;
}

/*
 * One frame: puts its address, and goes to its caller.  A caller's address that is outside of code
 * is no frame.
 */
static inline long walk_frame(__u32 i, struct walk_pointers *p)
{
	struct walk *w = p->w;
	__u32 n = w->n;
	int end;

	if (n >= w->room || n >= WALK_ROOM) {
		w->end = UNWIND_CUT_DEPTH;
		return 1;
	}
	p->to[n] = w->r.pc;
	w->sp[n] = w->r.sp;
	w->n = n + 1;
	end = walk_mapped(w, p->process, unwind_place_of(&w->r));
	if (end == UNWIND_CUT_UNMAPPED && !w->r.first)
		w->n = n;
	if (end == UNWIND_CALLER)
		end = unwind_step(&w->r, &w->rule, WALK_ARM64, w);
	if (end == UNWIND_CUT_RULE && !WALK_ARM64)
		end = unwind_step_code(&w->r, w);
	if (end == UNWIND_CUT_RULE) {
		end = unwind_step_pointer(&w->r, w);
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

#endif

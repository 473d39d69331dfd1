/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Walks a stack by the rules of unwind_abi.h.  The functions are the same in BPF programs and in
 * user space; before the include, the user defines how memory and registers of the thread are read:
 *
 *	UNWIND_READ(arg, to, size, address)	0: all bytes have been read
 *	UNWIND_REGISTER(arg, number, to)	0: a register of the first frame has been read
 *
 * and may define UNWIND_READ_FRAME(arg, to, address) for a word of a frame.  Those of the next
 * frames are above it, often within some hundred bytes.
 *
 * Invariants: registers that are not known are never used, and a frame's CFA is above the one
 * before it unless a signal came between; so a walk ends, at the latest at its limit of frames.
 */
#ifndef PMCBPF_UNWIND_BPF_H
#define PMCBPF_UNWIND_BPF_H

#include "unwind_abi.h"

#ifndef UNWIND_READ_FRAME
#define UNWIND_READ_FRAME(arg, to, address) UNWIND_READ(arg, to, sizeof(*(to)), address)
#endif

#define UNWIND_FP_REACH	 (1u << 20)	/* between a frame and the frame record of its caller */

#define UNWIND_CALLER (-1)		/* of a step: the registers are the caller's */

/* The address to look up: a return address may be the first one of the next function. */
static inline __u64 unwind_place_of(const struct unwind_regs *r)
{
	return r->exact ? r->pc : r->pc - 1;
}

static inline int unwind_cfa_load(__u64 at, __s32 add, __u64 *cfa, void *arg)
{
	if (UNWIND_READ(arg, cfa, sizeof(*cfa), at))
		return UNWIND_CUT_STACK;
	*cfa += (__s64)add;
	return UNWIND_CALLER;
}

static inline int unwind_cfa_of(const struct unwind_regs *r, const struct unwind_rule *rule,
				__u64 *cfa, void *arg)
{
	const __u64 offset = (__s64)rule->offset;

	if ((rule->cfa == UNWIND_FP || rule->cfa == UNWIND_FP_LOAD) && !r->fp_known)
		return UNWIND_CUT_REGISTER;
	switch (rule->cfa) {
	case UNWIND_SP:
		*cfa = r->sp + offset;
		return UNWIND_CALLER;
	case UNWIND_FP:
		*cfa = r->fp + offset;
		return UNWIND_CALLER;
	case UNWIND_SP_LOAD: return unwind_cfa_load(r->sp + offset, rule->add, cfa, arg);
	case UNWIND_FP_LOAD: return unwind_cfa_load(r->fp + offset, rule->add, cfa, arg);
	case UNWIND_PLT:
		*cfa = r->sp + offset + ((r->pc & 15) >= rule->reg ? (__s64)rule->add : 0);
		return UNWIND_CALLER;
	case UNWIND_REG:
		if (!r->first && rule->reg == UNWIND_BX && r->bx_known && r->bx_at)
			return unwind_cfa_load(r->bx_at, rule->offset, cfa, arg);
		if ((!r->first && (rule->reg != UNWIND_BX || !r->bx_known)) ||
		    UNWIND_REGISTER(arg, rule->reg, cfa))
			return UNWIND_CUT_REGISTER;
		*cfa += offset;
		return UNWIND_CALLER;
	default: return UNWIND_CUT_FORM;
	}
}

static inline int unwind_return_read(const struct unwind_regs *r, const struct unwind_rule *rule,
				     __u64 cfa, __u64 *pc, void *arg)
{
	switch (rule->ra) {
	case UNWIND_SAME:
		*pc = r->lr;
		return r->lr_known ? UNWIND_CALLER : UNWIND_CUT_REGISTER;
	case UNWIND_IN_REG:
		return r->first && !UNWIND_REGISTER(arg, rule->ra_at, pc) ? UNWIND_CALLER :
									    UNWIND_CUT_REGISTER;
	default:
		return UNWIND_READ_FRAME(arg, pc, cfa + (__s64)rule->ra_at * UNWIND_UNIT) ?
			       UNWIND_CUT_STACK : UNWIND_CALLER;
	}
}

/*
 * Returns whether the caller's frame pointer is known.  Callers that do not use it are found
 * without it, and compilers let rules of an epilogue refer to memory below the stack pointer.
 */
static inline int unwind_pointer_read(const struct unwind_regs *r, const struct unwind_rule *rule,
				      __u64 cfa, __u64 *fp, void *arg)
{
	__u64 at = (__s64)rule->fp_at * UNWIND_UNIT;

	switch (rule->fp) {
	case UNWIND_SAME: return r->fp_known;
	case UNWIND_AT_CFA: at += cfa; break;
	case UNWIND_AT_SP: at += r->sp; break;
	case UNWIND_AT_FP:
		at += r->fp;
		if (!r->fp_known)
			return 0;
		break;
	default: return 0;
	}
	return !UNWIND_READ_FRAME(arg, fp, at);
}

/* The kernel has put the interrupted code's registers onto the stack. */
static inline int unwind_signal(struct unwind_regs *r, int arm64, void *arg)
{
	/* x86-64: words 10, 15 and 16 of a ucontext's registers; arm64: 29, 30, 31 (SP) and PC. */
	__u64 words[4];
	const __u64 bx_at = r->sp + 40 + 11 * 8;

	if (UNWIND_READ(arg, &words[1], 24, r->sp + (arm64 ? 312 + 30 * 8 : 40 + 14 * 8)) ||
	    UNWIND_READ(arg, &words[0], 8, r->sp + (arm64 ? 312 + 29 * 8 : 40 + 10 * 8)))
		return UNWIND_CUT_STACK;
	r->fp = words[0];
	r->lr = words[1];
	r->sp = words[2];
	r->pc = words[3];
	r->fp_known = 1;
	r->lr_known = arm64 != 0;
	r->bx_known = !arm64;
	r->bx_at = bx_at;
	r->exact = 1;
	r->first = 0;
	return UNWIND_CALLER;
}

static inline void unwind_leave(struct unwind_regs *r, __u64 cfa, __u64 fp, __u64 pc)
{
	r->sp = cfa;
	r->fp = fp;
	r->pc = pc & r->mask;
	r->exact = 0;
	r->first = 0;
	r->lr_known = 0;
}

static inline void unwind_bx_follow(struct unwind_regs *r, const struct unwind_rule *rule,
				    __u64 cfa)
{
	if (!rule->bx_at)
		return;
	r->bx_known = rule->bx_at != UNWIND_BX_LOST;
	r->bx_at = cfa + (__s64)rule->bx_at * UNWIND_UNIT;
}

/* From a frame to its caller: UNWIND_CALLER, or how the chain ends here. */
static inline int unwind_step(struct unwind_regs *r, const struct unwind_rule *rule, int arm64,
			      void *arg)
{
	__u64 cfa = 0, fp = r->fp, pc = 0;
	int result, fp_known;

	switch (rule->cfa) {
	case UNWIND_NONE: return UNWIND_CUT_RULE;
	case UNWIND_END: return UNWIND_WHOLE;
	case UNWIND_SIGNAL: return unwind_signal(r, arm64, arg);
	default: break;
	}
	result = unwind_cfa_of(r, rule, &cfa, arg);
	if (result != UNWIND_CALLER)
		return result;
	/* Code that was interrupted, or is in a system call, may not have used the stack. */
	if (cfa < r->sp || (cfa == r->sp && !r->exact && !r->first))
		return UNWIND_CUT_STUCK;
	unwind_bx_follow(r, rule, cfa);
	/* The frame pointer is the lower word: a copy that begins there has both. */
	fp_known = unwind_pointer_read(r, rule, cfa, &fp, arg);
	result = unwind_return_read(r, rule, cfa, &pc, arg);
	if (result != UNWIND_CALLER)
		return result;
	r->fp_known = fp_known;
	unwind_leave(r, cfa, fp, pc);
	return UNWIND_CALLER;
}

/*
 * x86-64, code without rules: if it runs into `add $n,%rsp; ret`, its return address is n above,
 * and the other registers are the caller's already.  So are the trampolines of `python -X perf`.
 */
static inline int unwind_step_code(struct unwind_regs *r, void *arg)
{
	const __u64 add = 0xc48348, ret = 0xc3;		/* 48 83 c4 nn c3 */
	__u64 code = 0, pc, up;

	if (UNWIND_READ(arg, &code, 5, r->pc) || (code & 0xffffff) != add || code >> 32 != ret)
		return UNWIND_CUT_RULE;
	up = code >> 24 & 0xff;
	if (up & 0x87 || UNWIND_READ(arg, &pc, sizeof(pc), r->sp + up))
		return UNWIND_CUT_RULE;
	unwind_leave(r, r->sp + up + sizeof(pc), r->fp, pc);
	return UNWIND_CALLER;
}

/* The same for code without rules that keeps frame pointers, such as a JIT compiler's. */
static inline int unwind_step_pointer(struct unwind_regs *r, void *arg)
{
	__u64 pair[2];

	if (!r->fp_known || r->fp < r->sp || r->fp - r->sp > UNWIND_FP_REACH || r->fp % 8)
		return UNWIND_CUT_RULE;
	if (UNWIND_READ(arg, pair, sizeof(pair), r->fp))
		return UNWIND_CUT_STACK;
	r->bx_known = 0;
	unwind_leave(r, r->fp + sizeof(pair), pair[0], pair[1]);
	return UNWIND_CALLER;
}

#endif

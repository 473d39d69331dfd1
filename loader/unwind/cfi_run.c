/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Of all registers only the return address, the frame pointer, the stack pointer and RBX are
 * followed: an unwinder for stacks needs no other.
 */
#include <errno.h>

#include "cfi_run.h"

#define LEVELS	    8u			/* of remembered states */
#define NO_REGISTER UINT64_MAX

enum {
	CFA_NOP, CFA_SET_LOC, CFA_ADVANCE1, CFA_ADVANCE2, CFA_ADVANCE4, CFA_OFFSET_EXTENDED,
	CFA_RESTORE_EXTENDED, CFA_UNDEFINED, CFA_SAME_VALUE, CFA_REGISTER, CFA_REMEMBER_STATE,
	CFA_RESTORE_STATE, CFA_DEF_CFA, CFA_DEF_CFA_REGISTER, CFA_DEF_CFA_OFFSET,
	CFA_DEF_CFA_EXPRESSION, CFA_EXPRESSION, CFA_OFFSET_EXTENDED_SF, CFA_DEF_CFA_SF,
	CFA_DEF_CFA_OFFSET_SF, CFA_VAL_OFFSET, CFA_VAL_OFFSET_SF, CFA_VAL_EXPRESSION,
	CFA_NEGATE_RA_STATE_WITH_PC = 0x2c, CFA_NEGATE_RA_STATE, CFA_GNU_ARGS_SIZE,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED,
	/* The high bits of an instruction that has its operand in the low ones. */
	CFA_ADVANCE = 0x40, CFA_OFFSET = 0x80, CFA_RESTORE = 0xc0, CFA_HIGH = 0xc0, CFA_LOW = 0x3f,
};

struct cfi_registers {
	uint64_t ra, fp, sp, bx;
};

struct cfi_runner {
	enum unwind_arch arch;
	const struct cfi_fde *fde;
	struct cfi_registers number;
	struct cfi_state now, initial, saved[LEVELS];
	unsigned int nsaved, steps;
	uint64_t at, end;
	cfi_sink *sink;
	void *arg;
	int err;			/* the sink's */
};

static struct cfi_place *cfi_place_of(struct cfi_runner *r, struct cfi_state *s, uint64_t reg)
{
	if (reg == r->number.ra)
		return &s->ra;
	if (reg == r->number.fp)
		return &s->fp;
	if (reg == r->number.sp)
		return &s->sp;
	return reg == r->number.bx ? &s->bx : NULL;
}

static bool cfi_place_set(struct cfi_runner *r, uint64_t reg, enum cfi_where where, int64_t n)
{
	struct cfi_place *p = cfi_place_of(r, &r->now, reg);

	if (p)
		*p = (struct cfi_place){ .where = where, .n = n };
	return true;
}

static bool cfi_place_expression(struct cfi_runner *r, struct cfi_cursor *c, enum cfi_where where)
{
	struct cfi_place *p = cfi_place_of(r, &r->now, cfi_uleb(c));
	struct cfi_cursor expression = cfi_block(c);

	if (p)
		*p = (struct cfi_place){ .where = where, .expression = expression };
	return true;
}

static bool cfi_restore(struct cfi_runner *r, uint64_t reg)
{
	struct cfi_place *p = cfi_place_of(r, &r->now, reg);

	if (p)
		*p = *cfi_place_of(r, &r->initial, reg);
	return true;
}

static int64_t cfi_factored(const struct cfi_runner *r, uint64_t factor)
{
	return (int64_t)(factor * (uint64_t)r->fde->cie->data_align);
}

/* The state so far holds up to `to`. */
static bool cfi_advance(struct cfi_runner *r, uint64_t to)
{
	if (to < r->at)
		return false;
	if (to > r->at && !r->err && r->at < r->end)
		r->err = r->sink(r->arg, r->at, &r->now);
	r->at = to;
	return true;
}

static bool cfi_advance_by(struct cfi_runner *r, uint64_t delta)
{
	uint64_t bytes;

	return !__builtin_mul_overflow(delta, r->fde->cie->code_align, &bytes) &&
	       !__builtin_add_overflow(bytes, r->at, &bytes) && cfi_advance(r, bytes);
}

static bool cfi_cfa_set(struct cfi_runner *r, uint64_t reg, int64_t offset)
{
	r->now.computed = false;
	r->now.reg = reg;
	r->now.offset = offset;
	return true;
}

/* With the CFA from an expression, there is no register or offset to be replaced. */
static bool cfi_cfa_change(struct cfi_runner *r, uint64_t reg, int64_t offset)
{
	return !r->now.computed && cfi_cfa_set(r, reg, offset);
}

static bool cfi_cfa_expression(struct cfi_runner *r, struct cfi_cursor *c)
{
	r->now.computed = true;
	r->now.expression = cfi_block(c);
	return true;
}

static bool cfi_remember(struct cfi_runner *r)
{
	if (r->nsaved == LEVELS)
		return false;
	r->saved[r->nsaved++] = r->now;
	return true;
}

static bool cfi_recall(struct cfi_runner *r)
{
	if (!r->nsaved)
		return false;
	r->now = r->saved[--r->nsaved];
	return true;
}

/* Instructions that change where a register of the caller is. */
static bool cfi_step_register(struct cfi_runner *r, struct cfi_cursor *c, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case CFA_OFFSET_EXTENDED:
		reg = cfi_uleb(c);
		return cfi_place_set(r, reg, CFI_AT_CFA, cfi_factored(r, cfi_uleb(c)));
	case CFA_OFFSET_EXTENDED_SF:
		reg = cfi_uleb(c);
		return cfi_place_set(r, reg, CFI_AT_CFA, cfi_factored(r, (uint64_t)cfi_sleb(c)));
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = cfi_uleb(c);
		return cfi_place_set(r, reg, CFI_AT_CFA, cfi_factored(r, 0 - cfi_uleb(c)));
	case CFA_VAL_OFFSET:
		reg = cfi_uleb(c);
		return cfi_place_set(r, reg, CFI_OTHER, cfi_factored(r, cfi_uleb(c)));
	case CFA_VAL_OFFSET_SF:
		reg = cfi_uleb(c);
		return cfi_place_set(r, reg, CFI_OTHER, cfi_factored(r, (uint64_t)cfi_sleb(c)));
	case CFA_REGISTER:
		reg = cfi_uleb(c);
		return cfi_place_set(r, reg, CFI_IN_REG, (int64_t)cfi_uleb(c));
	case CFA_RESTORE_EXTENDED: return cfi_restore(r, cfi_uleb(c));
	case CFA_UNDEFINED: return cfi_place_set(r, cfi_uleb(c), CFI_UNDEFINED, 0);
	case CFA_SAME_VALUE:
		reg = cfi_uleb(c);
		return cfi_place_set(r, reg, CFI_SAME, (int64_t)reg);
	case CFA_EXPRESSION: return cfi_place_expression(r, c, CFI_EXPRESSION);
	case CFA_VAL_EXPRESSION: return cfi_place_expression(r, c, CFI_OTHER);
	default: return false;
	}
}

/* Instructions that change the CFA. */
static bool cfi_step_cfa(struct cfi_runner *r, struct cfi_cursor *c, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case CFA_DEF_CFA:
		reg = cfi_uleb(c);
		return cfi_cfa_set(r, reg, (int64_t)cfi_uleb(c));
	case CFA_DEF_CFA_SF:
		reg = cfi_uleb(c);
		return cfi_cfa_set(r, reg, cfi_factored(r, (uint64_t)cfi_sleb(c)));
	case CFA_DEF_CFA_REGISTER: return cfi_cfa_change(r, cfi_uleb(c), r->now.offset);
	case CFA_DEF_CFA_OFFSET: return cfi_cfa_change(r, r->now.reg, (int64_t)cfi_uleb(c));
	case CFA_DEF_CFA_OFFSET_SF:
		return cfi_cfa_change(r, r->now.reg, cfi_factored(r, (uint64_t)cfi_sleb(c)));
	case CFA_DEF_CFA_EXPRESSION: return cfi_cfa_expression(r, c);
	default: return cfi_step_register(r, c, op);
	}
}

static bool cfi_step(struct cfi_runner *r, struct cfi_cursor *c)
{
	const uint8_t op = cfi_u8(c), low = op & CFA_LOW;

	switch (op & CFA_HIGH) {
	case CFA_ADVANCE: return cfi_advance_by(r, low);
	case CFA_OFFSET:
		return cfi_place_set(r, low, CFI_AT_CFA, cfi_factored(r, cfi_uleb(c)));
	case CFA_RESTORE: return cfi_restore(r, low);
	default: break;
	}
	switch (op) {
	case CFA_NOP: return true;
	case CFA_ADVANCE1: return cfi_advance_by(r, cfi_number(c, 1));
	case CFA_ADVANCE2: return cfi_advance_by(r, cfi_number(c, 2));
	case CFA_ADVANCE4: return cfi_advance_by(r, cfi_number(c, 4));
	case CFA_REMEMBER_STATE: return cfi_remember(r);
	case CFA_RESTORE_STATE: return cfi_recall(r);
	case CFA_GNU_ARGS_SIZE: (void)cfi_uleb(c); return true;
	/* Whether the return address is signed: the walker removes signatures everywhere. */
	case CFA_NEGATE_RA_STATE:
	case CFA_NEGATE_RA_STATE_WITH_PC: return r->arch == UNWIND_ARM64;
	default: return cfi_step_cfa(r, c, op);
	}
}

static bool cfi_program_run(struct cfi_runner *r, struct cfi_cursor program)
{
	while (cfi_left(&program) && !r->err && r->at < r->end)
		if (r->steps++ >= UNWIND_STEPS_MAX || !cfi_step(r, &program) || program.bad)
			return false;
	return true;
}

int cfi_run(enum unwind_arch arch, const struct cfi_fde *fde, uint64_t end, cfi_sink *sink,
	    void *arg)
{
	const uint64_t ra = fde->cie->ra;
	struct cfi_runner r = {
		.arch = arch, .fde = fde, .at = fde->start, .end = end, .sink = sink, .arg = arg,
		.number = arch == UNWIND_ARM64 ?
				  (struct cfi_registers){ ra, 29, 31, NO_REGISTER } :
				  (struct cfi_registers){ ra, 6, 7, UNWIND_BX },
		.now = { .reg = NO_REGISTER, .ra.n = ra },
	};
	bool good = cfi_program_run(&r, fde->cie->program) && r.at == fde->start;

	r.initial = r.now;
	good = good && cfi_program_run(&r, fde->program);
	if (!r.err && r.at < end)
		r.err = sink(arg, r.at, good ? &r.now : NULL);
	return r.err;
}

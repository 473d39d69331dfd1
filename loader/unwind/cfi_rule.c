/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Few of the expressions that DWARF allows occur: PLT entries, realigned stacks, and assembler code
 * that keeps the old stack pointer on the stack.  They are matched as a whole.
 */
#include "cfi_rule.h"

enum {
	OP_DEREF = 0x06, OP_CONST1U = 0x08, OP_CONST1S, OP_AND = 0x1a, OP_PLUS = 0x22,
	OP_PLUS_UCONST, OP_SHL, OP_GE = 0x2a, OP_LIT0 = 0x30, OP_LIT31 = 0x4f, OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
};
#define PC_X86_64 16u
#define LR_ARM64  30
#define SIGNAL_SP_X86_64 160		/* of a ucontext's stack pointer, from SP */

struct cfi_names {
	uint64_t fp, sp;
};

static struct cfi_names cfi_names(enum unwind_arch arch)
{
	return arch == UNWIND_ARM64 ? (struct cfi_names){ 29, 31 } : (struct cfi_names){ 6, 7 };
}

static bool cfi_fits32(int64_t n)
{
	return n >= INT32_MIN && n <= INT32_MAX;
}

static bool cfi_units(int64_t n, int16_t *units)
{
	if (n % UNWIND_UNIT || n / UNWIND_UNIT < INT16_MIN || n / UNWIND_UNIT > INT16_MAX)
		return false;
	*units = (int16_t)(n / UNWIND_UNIT);
	return true;
}

/* "register + n" at the start of an expression. */
static bool cfi_base_read(struct cfi_cursor *c, uint64_t *reg, int64_t *n)
{
	const uint8_t op = cfi_u8(c);

	if (op < OP_BREG0 || op > OP_BREG31)
		return false;
	*reg = op - OP_BREG0;
	*n = cfi_sleb(c);
	return !c->bad;
}

/* What is added to a loaded value: nothing, plus_uconst, or a constant and plus. */
static bool cfi_sum_read(struct cfi_cursor *c, int64_t *n)
{
	uint8_t op;

	*n = 0;
	if (!cfi_left(c))
		return true;
	op = cfi_u8(c);
	if (op == OP_PLUS_UCONST) {
		*n = (int64_t)cfi_uleb(c);
	} else {
		if (op >= OP_LIT0 && op <= OP_LIT31)
			*n = op - OP_LIT0;
		else if (op == OP_CONST1U)
			*n = cfi_u8(c);
		else if (op == OP_CONST1S)
			*n = cfi_signed(c, 1);
		else
			return false;
		if (cfi_u8(c) != OP_PLUS)
			return false;
	}
	return !c->bad && !cfi_left(c);
}

/* SP + n + ((PC & 15) >= threshold) << shift: the entry of a PLT pushes one word more there. */
static bool cfi_plt_read(struct cfi_cursor c, uint64_t sp, struct unwind_rule *rule)
{
	uint64_t reg, pc;
	int64_t n, zero;
	uint8_t threshold, shift;

	if (!cfi_base_read(&c, &reg, &n) || !cfi_base_read(&c, &pc, &zero) || reg != sp ||
	    pc != PC_X86_64 || zero || !cfi_fits32(n) || cfi_u8(&c) != OP_LIT0 + 15 ||
	    cfi_u8(&c) != OP_AND)
		return false;
	threshold = (uint8_t)(cfi_u8(&c) - OP_LIT0);
	if (threshold > 15 || cfi_u8(&c) != OP_GE)
		return false;
	shift = (uint8_t)(cfi_u8(&c) - OP_LIT0);
	if (shift > 15 || cfi_u8(&c) != OP_SHL || cfi_u8(&c) != OP_PLUS || c.bad || cfi_left(&c))
		return false;
	rule->cfa = UNWIND_PLT;
	rule->reg = threshold;
	rule->offset = (int32_t)n;
	rule->add = 1 << shift;
	return true;
}

/* A register + n. */
static bool cfi_cfa_plain(uint64_t reg, int64_t n, struct cfi_names name, struct unwind_rule *rule)
{
	if (!cfi_fits32(n) || reg > 31)
		return false;
	rule->cfa = reg == name.sp ? UNWIND_SP : reg == name.fp ? UNWIND_FP : UNWIND_REG;
	rule->reg = rule->cfa == UNWIND_REG ? (uint8_t)reg : 0;
	rule->offset = (int32_t)n;
	return true;
}

/* A word on the stack + n. */
static bool cfi_cfa_loaded(struct cfi_cursor c, uint64_t reg, int64_t at, struct cfi_names name,
			   struct unwind_rule *rule)
{
	int64_t n;

	if ((reg != name.sp && reg != name.fp) || cfi_u8(&c) != OP_DEREF || !cfi_sum_read(&c, &n) ||
	    !cfi_fits32(at) || !cfi_fits32(n))
		return false;
	rule->cfa = reg == name.sp ? UNWIND_SP_LOAD : UNWIND_FP_LOAD;
	rule->offset = (int32_t)at;
	rule->add = (int32_t)n;
	return true;
}

static bool cfi_cfa_of(enum unwind_arch arch, const struct cfi_state *s, struct unwind_rule *rule)
{
	const struct cfi_names name = cfi_names(arch);
	struct cfi_cursor c = s->expression;
	uint64_t reg;
	int64_t n;

	if (!s->computed)
		return cfi_cfa_plain(s->reg, s->offset, name, rule);
	if (!cfi_base_read(&c, &reg, &n))
		return false;
	if (!cfi_left(&c))
		return cfi_cfa_plain(reg, n, name, rule);
	return cfi_cfa_loaded(c, reg, n, name, rule) ||
	       (arch == UNWIND_X86_64 && cfi_plt_read(s->expression, name.sp, rule));
}

static bool cfi_return_of(enum unwind_arch arch, const struct cfi_place *p,
			  struct unwind_rule *rule)
{
	switch (p->where) {
	case CFI_SAME:
		/*
		 * glibc's functions that name another register have the address there only later.
		 */
		rule->ra = UNWIND_SAME;
		return arch == UNWIND_ARM64 && p->n == LR_ARM64;
	case CFI_AT_CFA:
		rule->ra = UNWIND_AT_CFA;
		return cfi_units(p->n, &rule->ra_at);
	case CFI_IN_REG:
		rule->ra = UNWIND_IN_REG;
		rule->ra_at = (int16_t)p->n;
		return p->n >= 0 && p->n <= 31;
	default: return false;
	}
}

static bool cfi_pointer_loaded(struct cfi_cursor c, struct cfi_names name, struct unwind_rule *rule)
{
	uint64_t reg;
	int64_t n;

	if (!cfi_base_read(&c, &reg, &n) || cfi_left(&c) || (reg != name.fp && reg != name.sp))
		return false;
	rule->fp = reg == name.fp ? UNWIND_AT_FP : UNWIND_AT_SP;
	return cfi_units(n, &rule->fp_at);
}

/* Callers that do not need a frame pointer can be found without it. */
static void cfi_pointer_of(enum unwind_arch arch, const struct cfi_place *p,
			   struct unwind_rule *rule)
{
	bool known = false;

	if (p->where == CFI_SAME) {
		rule->fp = UNWIND_SAME;
		return;
	}
	if (p->where == CFI_AT_CFA) {
		rule->fp = UNWIND_AT_CFA;
		known = cfi_units(p->n, &rule->fp_at);
	} else if (p->where == CFI_EXPRESSION) {
		known = cfi_pointer_loaded(p->expression, cfi_names(arch), rule);
	}
	if (!known) {
		rule->fp = UNWIND_UNKNOWN;
		rule->fp_at = 0;
	}
}

/* Only the rule that needs RBX cares whether it is lost. */
static void cfi_bx_of(enum unwind_arch arch, const struct cfi_place *p, struct unwind_rule *rule)
{
	int16_t units = 0;

	if (arch == UNWIND_ARM64 || p->where == CFI_SAME)
		return;
	if (p->where == CFI_AT_CFA && cfi_units(p->n, &units) && units && units > UNWIND_BX_LOST &&
	    units <= INT8_MAX)
		rule->bx_at = (int8_t)units;
	else
		rule->bx_at = UNWIND_BX_LOST;
}

/*
 * Where the registers are in a signal frame is fixed by the kernel.  x86-64's return trampoline
 * says where the stack pointer is in it; on arm64 the only one is the kernel's own.
 */
static bool cfi_is_signal(enum unwind_arch arch, const struct cfi_state *s)
{
	struct unwind_rule rule = { .cfa = UNWIND_BAD };

	return arch == UNWIND_ARM64 ||
	       (cfi_cfa_of(arch, s, &rule) && rule.cfa == UNWIND_SP_LOAD &&
		rule.offset == SIGNAL_SP_X86_64 && !rule.add);
}

void cfi_rule_of(enum unwind_arch arch, bool signal, const struct cfi_state *s,
		 struct unwind_rule *rule)
{
	*rule = (struct unwind_rule){ .cfa = UNWIND_BAD };
	if (!s)
		return;
	if (signal) {
		rule->cfa = cfi_is_signal(arch, s) ? UNWIND_SIGNAL : UNWIND_BAD;
		return;
	}
	if (s->ra.where == CFI_UNDEFINED) {
		rule->cfa = UNWIND_END;
		return;
	}
	if (s->sp.where != CFI_SAME || !cfi_cfa_of(arch, s, rule) ||
	    !cfi_return_of(arch, &s->ra, rule)) {
		*rule = (struct unwind_rule){ .cfa = UNWIND_BAD };
		return;
	}
	cfi_pointer_of(arch, &s->fp, rule);
	cfi_bx_of(arch, &s->bx, rule);
}

/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Tables for unwinding: a file's call frame information (.eh_frame), compiled.
 *
 * A table covers the file's code in pages of 64 KB.  Each page has rows, sorted by address: a row
 * is 4 bytes, the low 16 bits of the address from which it holds, and the number of a rule.  A page
 * with rows begins with one for offset 0, so that a search stays in its page; a page without rows
 * has no rule.  A rule says how the caller's registers are found from those of a frame: first the
 * CFA (the caller's stack pointer), then the return address and the caller's frame pointer.
 *
 * Registers have the numbers of DWARF.  Addresses are those of the file's program headers.
 */
#ifndef PMCBPF_UNWIND_ABI_H
#define PMCBPF_UNWIND_ABI_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#define UNWIND_PAGE_SHIFT 16
#define UNWIND_PAGE_SIZE  (1u << UNWIND_PAGE_SHIFT)
#define UNWIND_UNIT	  8		/* of unwind_rule.ra_at and fp_at, in bytes */

enum unwind_cfa {
	UNWIND_NONE,			/* no call frame information: rule 0 */
	UNWIND_BAD,			/* … of a form that no rule expresses: rule 1 */
	UNWIND_END,			/* the outermost frame: there is no caller */
	UNWIND_SIGNAL,			/* a signal handler returns here, to saved registers */
	UNWIND_SP,			/* CFA = SP + offset */
	UNWIND_FP,			/* CFA = FP + offset */
	UNWIND_REG,			/* CFA = reg + offset; if the registers are known */
	UNWIND_SP_LOAD,			/* CFA = *(SP + offset) + add */
	UNWIND_FP_LOAD,			/* CFA = *(FP + offset) + add */
	UNWIND_PLT,			/* CFA = SP + offset + ((PC & 15) >= reg ? add : 0) */
	UNWIND_CFA_KINDS
};

/* Where the return address and the caller's frame pointer are. */
enum unwind_place {
	UNWIND_SAME,			/* FP: unchanged; return address: in LR (arm64) */
	UNWIND_AT_CFA,			/* at CFA + ra_at or fp_at units */
	UNWIND_AT_FP,			/* FP: at FP + fp_at units */
	UNWIND_AT_SP,			/* FP: at SP + fp_at units */
	UNWIND_IN_REG,			/* return address: in register ra_at, if those are known */
	UNWIND_UNKNOWN,			/* FP: lost */
	UNWIND_PLACES
};

struct unwind_rule {
	__u8 cfa;			/* enum unwind_cfa */
	__u8 reg;			/* REG: the register; PLT: the threshold */
	__u8 ra, fp;			/* enum unwind_place */
	__s32 offset, add;
	__s16 ra_at, fp_at;
};

struct unwind_page {
	__u32 first, rows;		/* of the table's rows */
};

/* How a chain of callers ended: the numbers of enum pmc_chain_end in logs. */
enum unwind_cut {
	UNWIND_WHOLE = 1,		/* at the outermost frame */
	UNWIND_CUT_DEPTH,		/* at the limit of frames */
	UNWIND_CUT_PROCESS,		/* the process's mappings are not known */
	UNWIND_CUT_UNMAPPED,		/* at an address outside of executable mappings */
	UNWIND_CUT_TABLE,		/* in a file whose table is not there (yet) */
	UNWIND_CUT_RULE,		/* in code without call frame information */
	UNWIND_CUT_FORM,		/* … with information that no rule expresses */
	UNWIND_CUT_STACK,		/* the stack could not be read */
	UNWIND_CUT_STUCK,		/* the caller's frame is not above its callee's */
	UNWIND_CUT_REGISTER,		/* at a rule that uses a register that is not known */
	UNWIND_CUT_CHANGING,		/* mappings or tables were changing */
	UNWIND_CUT_BITS32,		/* a 32-bit program */
	UNWIND_CUT_KERNEL,		/* at an address of the kernel's half */
	UNWIND_CUTS
};

#define UNWIND_RULE_NONE 0u
#define UNWIND_RULE_BAD	 1u

#define UNWIND_ROW(low, rule)  ((__u32)(low) | (__u32)(rule) << 16)
#define UNWIND_ROW_LOW(row)    ((row) & 0xffffu)
#define UNWIND_ROW_RULE(row)   ((row) >> 16)

_Static_assert(sizeof(struct unwind_rule) == 16, "abi");

#endif

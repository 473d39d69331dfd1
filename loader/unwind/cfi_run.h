/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the instructions of an FDE: the state of a frame, address by address. */
#ifndef PMCBPF_UNWIND_CFI_RUN_H
#define PMCBPF_UNWIND_CFI_RUN_H

#include "cfi.h"

enum cfi_where {
	CFI_SAME,			/* the register, whose number is n, is unchanged */
	CFI_UNDEFINED,			/* it has no value; a return address: no caller */
	CFI_AT_CFA,			/* at CFA + n */
	CFI_IN_REG,			/* in register n */
	CFI_EXPRESSION,			/* at the address that the expression has */
	CFI_OTHER,			/* its value is CFA + n or that of an expression */
};

struct cfi_place {
	enum cfi_where where;
	int64_t n;
	struct cfi_cursor expression;
};

struct cfi_state {
	bool computed;			/* the CFA: by the expression, else reg + offset */
	uint64_t reg;
	int64_t offset;
	struct cfi_cursor expression;
	struct cfi_place ra, fp, sp, bx;
};

/* From `address` on the frame has this state; NULL: one that cannot be computed.  0 or -errno. */
typedef int cfi_sink(void *arg, uint64_t address, const struct cfi_state *state);

/*
 * Addresses increase, from the FDE's start to before `end`.  Instructions that are damaged or not
 * supported make the rest of the function NULL.  Returns the sink's error, or 0.
 */
int cfi_run(enum unwind_arch arch, const struct cfi_fde *fde, uint64_t end, cfi_sink *sink,
	    void *arg);

#endif

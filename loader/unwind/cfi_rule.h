/* SPDX-License-Identifier: BSD-2-Clause */
/* From the state of a frame to the rule by which it is left. */
#ifndef PMCBPF_UNWIND_CFI_RULE_H
#define PMCBPF_UNWIND_CFI_RULE_H

#include "cfi_run.h"

/* All bytes of the rule are set.  NULL, and states that no rule expresses, are UNWIND_BAD. */
void cfi_rule_of(enum unwind_arch arch, bool signal, const struct cfi_state *s,
		 struct unwind_rule *rule);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs that read registers of a CPU, through the module. */
#ifndef PMCBPF_REGISTER_H
#define PMCBPF_REGISTER_H

#include "count_state.h"

int register_new(struct count *c, struct reason *why);
/*
 * For PMCs of any backend: true if only some bits of a register count.  Its owner cannot read it by
 * itself, and the daemon has to read it before it wraps.
 */
bool register_narrow(const struct count *c);

#endif

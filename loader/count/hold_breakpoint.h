/* SPDX-License-Identifier: BSD-2-Clause */
/* PMCs of breakpoints: registers that the kernel has yet to give back. */
#ifndef PMCBPF_HOLD_BREAKPOINT_H
#define PMCBPF_HOLD_BREAKPOINT_H

#include "count_state.h"

/*
 * After an open that failed: if this was for want of a breakpoint register, and one may become free
 * in a moment, lets others work and returns true: try again.  *since is 0 before the first call.
 */
bool hold_breakpoint_comes(const struct count *c, int err, uint64_t *since);

#endif

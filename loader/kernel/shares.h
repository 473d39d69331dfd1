/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Part of the engine: what each process has had of a logged PMC.  Only engine.c includes this.
 */
#ifndef PMCBPF_SHARES_H
#define PMCBPF_SHARES_H

#include <stdint.h>

struct pmcbpf;

/* As engine_share_take() and engine_shares_forget(). */
uint64_t shares_take(struct pmcbpf *skel, unsigned int slot, uint32_t log, uint32_t tgid);
void shares_forget(struct pmcbpf *skel, unsigned int slot, uint32_t log);

#endif

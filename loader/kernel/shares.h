/* SPDX-License-Identifier: BSD-2-Clause */
/* Each process's share of a logged PMC's events. */
#ifndef PMCBPF_SHARES_H
#define PMCBPF_SHARES_H

#include <stdbool.h>
#include <stdint.h>

struct engine;

/* Returns and forgets a process's share of a PMC of the owner in that slot. */
uint64_t shares_take(const struct engine *e, unsigned int slot, uint32_t log, uint32_t tgid);
/* Forgets the shares of all processes in the PMC. */
void shares_forget(const struct engine *e, unsigned int slot, uint32_t log);

/*
 * Has the programs record the shares of a PMC's threads, some of them.  False: none is left, or the
 * programs cannot run.
 */
bool shares_record_threads(const struct engine *e, unsigned int slot, uint32_t log);

#endif

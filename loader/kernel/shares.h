/* SPDX-License-Identifier: BSD-2-Clause */
/* What each process has had of a logged PMC. */
#ifndef PMCBPF_SHARES_H
#define PMCBPF_SHARES_H

#include <stdint.h>

struct engine;

/* The share of a process in a PMC of the owner in that slot, which is forgotten here. */
uint64_t shares_take(const struct engine *e, unsigned int slot, uint32_t log, uint32_t tgid);
/* The shares of all processes in it are forgotten. */
void shares_forget(const struct engine *e, unsigned int slot, uint32_t log);

#endif

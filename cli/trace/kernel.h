/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's trace rings: mapped through pmcbpfd, or as root from the pinned map. */
#ifndef PMCBPF_CLI_TRACE_KERNEL_H
#define PMCBPF_CLI_TRACE_KERNEL_H

#include "memory.h"

/* `frozen`: a copy at one moment.  0, or an exit code after a line with the reason. */
int kernel_map(struct memory *memory, bool frozen);
void kernel_unmap(struct memory *memory);

#endif

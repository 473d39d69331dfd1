/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's trace rings: mapped through pmcbpfd, or without it, as root, from the pinned map. */
#ifndef PMCBPF_CLI_TRACE_KERNEL_H
#define PMCBPF_CLI_TRACE_KERNEL_H

#include "memory.h"

/* `frozen`: a copy of one moment.  0, or an exit code and the line is printed. */
int kernel_map(struct memory *memory, bool frozen);
void kernel_unmap(struct memory *memory);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's trace rings are those of a pmcbpfd that runs. */
#ifndef PMCBPF_CLI_RUNNING_H
#define PMCBPF_CLI_RUNNING_H

/*
 * As pmc_init(), but starts no daemon: one that root would get ends with the program, and its rings
 * with it.  errno is ENOENT or ENOTDIR where none runs.
 */
int running_connect(void);

#endif

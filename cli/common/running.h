/* SPDX-License-Identifier: BSD-2-Clause */
/* Connecting to a running pmcbpfd, which has the kernel's trace rings. */
#ifndef PMCBPF_CLI_RUNNING_H
#define PMCBPF_CLI_RUNNING_H

/*
 * As pmc_init(), but starts no private daemon, because its rings would end with the program.  errno
 * is ENOENT or ENOTDIR if no daemon runs.
 */
int running_connect(void);

#endif

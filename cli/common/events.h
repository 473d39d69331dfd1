/* SPDX-License-Identifier: BSD-2-Clause */
/* Prints the events of this machine; call pmc_init() first.  0 or an exit code. */
#ifndef PMCBPF_CLI_EVENTS_H
#define PMCBPF_CLI_EVENTS_H

/* Prints the names that contain `substr`; NULL: all.  EX_USAGE if there is none. */
int events_print(const char *substr);

/* Describes these events: 'u' in one line each, 'U' at length, 'f' in full. */
int events_describe(int letter, const char *substr);

#endif

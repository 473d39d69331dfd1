/* SPDX-License-Identifier: BSD-2-Clause */
/* What events this machine has.  After pmc_init(); 0 or an exit code: 64 if nothing matches. */
#ifndef PMCBPF_CLI_EVENTS_H
#define PMCBPF_CLI_EVENTS_H

/* The names that contain `substr`, NULL: all. */
int events_print(const char *substr);

/* What is known of those: 'u' a line each, 'U' a long text, 'f' everything. */
int events_describe(int letter, const char *substr);

#endif

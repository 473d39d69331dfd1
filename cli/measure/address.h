/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses of symbols in a process. */
#ifndef PMCBPF_CLI_ADDRESS_H
#define PMCBPF_CLI_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct address {
	uint64_t value;
	uint64_t size;		/* 0: not known */
	bool code;		/* it is a function's */
};

/*
 * Looks for the symbol in the process's program, then in its other files.  0, or -EINVAL with one
 * line in `why`: there is none, or several of that name.
 */
int address_find(pid_t pid, const char *symbol, struct address *out, char *why, size_t size);

#endif

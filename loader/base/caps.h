/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The capabilities that the daemon keeps, each with its reason; packaging/systemd/pmcbpfd.service
 * has the same list, which a test compares.
 */
#ifndef PMCBPF_CAPS_H
#define PMCBPF_CAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "why.h"

struct cap {
	const char *name;		/* as in capabilities(7) */
	int number;
	/*
	 * Not for the daemon itself, which has it permitted but not effective: the child that asks
	 * the kernel for permission as a client (access.c) has what the client has.
	 */
	bool client;
	const char *reason;
};

extern const struct cap caps_kept[];
extern const size_t caps_nkept;

/*
 * Gives up all others, in this thread and those that it makes: before the first one is made, and
 * after what takes more at the start.  Also core files, and files for others by default.
 */
int caps_confine(struct why *why);

#endif

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

#include "lib/base/reason.h"

struct cap {
	const char *name;		/* as in capabilities(7) */
	int number;
	/*
	 * Permitted, but not effective: only for the child that asks the kernel for permission
	 * (policy/access.c), which takes on the client's capabilities.
	 */
	bool client;
	const char *reason;
};

extern const struct cap caps_kept[];
extern const size_t caps_nkept;

/*
 * Drops all others, in this thread and those created later; also disables core files, and access of
 * other users to new files.  Called before the first thread exists, and after the steps of the
 * start that need more.
 */
int caps_confine(struct reason *why);

#endif

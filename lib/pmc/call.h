/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How every public function begins and ends.  Inside, functions return 0 or a negative errno and
 * put the reason of a failure into a struct reason; at the end that becomes -1, errno and the text
 * of pmc_errstr().  Each thread has its own.
 */
#ifndef PMCBPF_CALL_H
#define PMCBPF_CALL_H

#include "lib/base/export.h"
#include "lib/base/reason.h"

/* For a call that takes no lock.  Empties and returns this thread's reason. */
struct reason *call_begin(void);
/* Turns 0 or -errno into 0 or -1 with errno, which pmc_errstr() remembers. */
int call_end(int err);

/* The same with that reason; a call that succeeds, in a signal handler, leaves the program's. */
int call_end_with(int err, const struct reason *why);

/* For a call that takes a lock or talks to the daemon: signals are deferred (sigdefer.h). */
struct reason *call_enter(void);
int call_leave(int err);

/* Refuses a null pointer with -EFAULT; the reason has the argument's name. */
int call_missing(struct reason *why, const char *argument);

#endif

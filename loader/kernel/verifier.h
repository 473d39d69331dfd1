/* SPDX-License-Identifier: BSD-2-Clause */
/* The reason of a refusal for a program that the kernel does not load. */
#ifndef PMCBPF_VERIFIER_H
#define PMCBPF_VERIFIER_H

#include <stdbool.h>

#include "loader/base/base.h"

/*
 * True if the load should be tried again.  The kernel does not finish verifying while the daemon is
 * stopped, as by SIGSTOP; libbpf repeats the load, at last with a log, which may have no room for a
 * program that is right.
 */
bool verifier_was_interrupted(int err, unsigned int *tries);
/* As deny(), with the last lines of the verifier's log, which is changed. */
int verifier_deny(struct reason *why, int err, const char *what, char *log);

#endif

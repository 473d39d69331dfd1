/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals to owners: hwpmc's SIGIO and SIGBUS, for those who wait for them. */
#ifndef PMCBPF_RAISE_H
#define PMCBPF_RAISE_H

#include "loader/pmc/owner.h"

/*
 * Sends it if the process has a handler, or has all its threads block the signal to wait for it.
 * Other processes get none: a signal that FreeBSD ignores ends a process here.  Where the library
 * has reported its signals, that report decides.
 */
void raise_signal(const struct owner *o, int signo);

/* The same of any process: would it be glad? */
bool raise_wanted(pid_t pid, int signo);

#endif

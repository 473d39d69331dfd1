/* SPDX-License-Identifier: BSD-2-Clause */
/* hwpmc's signals to owners: SIGIO and SIGBUS. */
#ifndef PMCBPF_RAISE_H
#define PMCBPF_RAISE_H

#include "loader/pmc/pmc.h"

/*
 * Sends the signal if the process has a handler, or if all its threads block the signal to wait for
 * it.  Other processes get none: FreeBSD ignores these signals by default, but on Linux they end a
 * process.  If the library has reported the signals that its process takes, that report decides.
 */
void raise_signal(const struct owner *o, int signo);

/* True if the process has a handler. */
bool raise_handled(pid_t pid, int signo);

/* True if the process has a handler, or if all its threads block the signal. */
bool raise_wanted(pid_t pid, int signo);

#endif

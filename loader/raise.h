/* SPDX-License-Identifier: BSD-2-Clause */
/* Signals to owners: hwpmc's SIGIO and SIGBUS, for those who wait for them. */
#ifndef PMCBPF_RAISE_H
#define PMCBPF_RAISE_H

#include "owner.h"

/*
 * Sends it if the process has a handler, or has all its threads block the signal to wait for it.
 * Whoever does neither is left alone: what is ignored on FreeBSD ends a process here.  The
 * library's report, where there is one, is believed instead of the kernel.
 */
void raise_signal(const struct owner *o, int signo);

/* The same of any process: would it be glad? */
bool raise_wanted(pid_t pid, int signo);

#endif

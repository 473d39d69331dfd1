/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logs of owners in a PID namespace below the daemon's: each process and thread gets the number
 * that it has there.  While such a log is written, the BPF programs note all numbers of each new
 * process, because it may be gone before its records are read; /proc has the other numbers.
 */
#ifndef PMCBPF_LOGNUMBERS_H
#define PMCBPF_LOGNUMBERS_H

#include "logfile.h"
#include "loader/policy/policy.h"

struct engine;

/* The numbers as an owner with these credentials sees them; the log frees them. */
int lognumbers_new(struct engine *e, const struct cred *viewer, struct log_numbers **out,
		   struct reason *why);

#endif

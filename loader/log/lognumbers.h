/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Logs of owners in a PID namespace below the daemon's: each process and thread gets the number
 * that it has there.  Of those that are born while such a log is written the programs note all
 * numbers, because a process may be gone before its records are read; /proc has the others'.
 */
#ifndef PMCBPF_LOGNUMBERS_H
#define PMCBPF_LOGNUMBERS_H

#include "logfile.h"
#include "loader/policy/policy.h"

struct engine;

/* For the log of an owner with these credentials, which has it from then on. */
int lognumbers_new(struct engine *e, const struct cred *viewer, struct log_numbers **out,
		   struct why *why);

#endif

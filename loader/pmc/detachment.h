/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of a process that is no longer a PMC's target. */
#ifndef PMCBPF_DETACHMENT_H
#define PMCBPF_DETACHMENT_H

#include "follows.h"

/* The PMC's owner has a log. */
void detachment_log(const struct pmc *p, pid_t tgid, uint64_t time);
/*
 * A set-id exec has taken the process away, and its slices have ended; not `complete`: maybe not
 * all.  The records are for detachment_log_late(), behind all those in the rings.
 */
void detachment_begin(struct follow *f, bool complete);
/* All records up to the exec have been written: logs the share, as at an exit, and PMCDETACH. */
void detachment_log_late(const struct follow *f);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of owners and targets that the daemon did not cause, in their order. */
#ifndef PMCBPF_LIFE_H
#define PMCBPF_LIFE_H

#include "loader/daemon/daemon.h"

/*
 * Reads all notes of the programs: signals owners of PMCs that lost their last target, and calls
 * `execed`, which ends the owner, for each owner that has executed another program.
 */
void owner_notes_read(struct daemon *d, void (*execed)(void *arg, struct owner *o), void *arg);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens to owners and targets behind the daemon's back, in the order it happened. */
#ifndef PMCBPF_LIFE_H
#define PMCBPF_LIFE_H

#include "loader/daemon/daemon.h"

/*
 * Takes in all that the programs have noted: owners of PMCs that lost their last target get their
 * signal, and `execed` is called for each that is another program now; it ends the owner.
 */
void owner_notes_read(struct daemon *d, void (*execed)(void *arg, struct owner *o), void *arg);

#endif

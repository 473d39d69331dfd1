/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pins of the trace rings in the BPF file system, for readers when the daemon cannot be asked.  A
 * killed daemon's rings stay there, with their history, until the next daemon makes rings.
 */
#ifndef PMCBPF_KTRPIN_H
#define PMCBPF_KTRPIN_H

#include "loader/base/base.h"

struct ktrpin {
	int dir;		/* locked by the daemon that has the usual name; -1: no place */
	char path[64];
};
#define KTRPIN_NONE ((struct ktrpin){ .dir = -1 })

/* Chooses the name and removes leftovers of it. */
int ktrpin_place(struct ktrpin *p, struct reason *why);
/* Removes what ktrpin_place() and its callers created. */
void ktrpin_free(struct ktrpin *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where trace rings are to be found when the daemon cannot be asked: in the BPF file system.  What
 * a killed daemon has left there stays, with its history, until the next one makes rings.
 */
#ifndef PMCBPF_KTRPIN_H
#define PMCBPF_KTRPIN_H

#include "loader/base/base.h"

struct ktrpin {
	int dir;		/* locked by the daemon that has the usual name; -1: no place */
	char path[64];
};
#define KTRPIN_NONE ((struct ktrpin){ .dir = -1 })

/* Chooses the name and removes what is in its way. */
int ktrpin_place(struct ktrpin *p, struct reason *why);
/* Removes what was put there. */
void ktrpin_free(struct ktrpin *p);

#endif

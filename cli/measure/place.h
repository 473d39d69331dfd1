/* SPDX-License-Identifier: BSD-2-Clause */
/* Breakpoints on symbols, whose addresses only the running program has. */
#ifndef PMCBPF_CLI_PLACE_H
#define PMCBPF_CLI_PLACE_H

#include "measure.h"

bool place_any(const struct measure *m);
/* Refuses what cannot be, before anything is done. */
int place_check(const struct measure *m);

#endif

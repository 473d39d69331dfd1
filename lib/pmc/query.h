/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to the daemon about the machine that several files of this room have. */
#ifndef PMCBPF_QUERY_H
#define PMCBPF_QUERY_H

#include "lib.h"

/*
 * Asks for the list of a class that is not asked for by pmc_init(), if this is one.  The caller
 * holds `init`, and until it has read the list.
 */
int query_late_events(struct lib *l, uint32_t class, struct reason *why);

/*
 * Returns the error of resolving an event.  If the event may be a tracepoint with a mistake, asks
 * for the list of these first, and the reason has the nearest name.
 */
int query_explain(struct lib *l, const char *spec, enum pmc_mode mode, int err,
		  struct reason *why);

#endif

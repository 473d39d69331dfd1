/* SPDX-License-Identifier: BSD-2-Clause */
/* Suggestions for a name that no event has. */
#ifndef PMCBPF_SUGGEST_H
#define PMCBPF_SUGGEST_H

#include "lib/base/nearest.h"
#include "machine.h"

/* Offers the names of a class, or for class -1 all names of this machine. */
const char *suggest_event(const struct machine *m, const char *root, const char *name, int class,
			  struct nearest *near);

/*
 * Recognise specifiers of perf and bpftrace that are not PMCs, and explain that: a probe, which may
 * look like an event, and a name unknown to all classes that is a tracepoint or has perf's
 * modifiers.  -ENOENT, or 0 if it is none of these.
 */
int suggest_probe(const struct machine *m, const char *spec, struct reason *why);
int suggest_foreign(const char *name, struct reason *why);

#endif

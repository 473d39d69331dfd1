/* SPDX-License-Identifier: BSD-2-Clause */
/* Suggestions for a name that no event has. */
#ifndef PMCBPF_SUGGEST_H
#define PMCBPF_SUGGEST_H

#include "lib/base/nearest.h"
#include "machine.h"

/* Offers the names of a class, or all that this machine has with a class of -1. */
const char *suggest_event(const struct machine *m, const char *root, const char *name, int class,
			  struct nearest *near);

/*
 * The lines for specifiers of perf's and bpftrace's that are no PMCs: a probe, which may look like
 * anything else, and a name that no class knows, of a tracepoint or with perf's modifiers.
 * -ENOENT, or 0 if it is none of these.
 */
int suggest_probe(const char *spec, struct reason *why);
int suggest_foreign(const char *name, struct reason *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* perf(1)'s spellings of events and qualifiers, written as this library writes them. */
#ifndef PMCBPF_PERF_SPELL_H
#define PMCBPF_PERF_SPELL_H

#include "machine.h"

#define PERF_MODIFIERS "ukhGHIpPDSWebR"

/*
 * True if only perf has such a spelling: rHEX of a machine with counters, cache:ID.OP.RESULT,
 * PMU/terms/MODIFIERS.  Other spellings may be names of events as well, which come first.
 */
bool perf_spell_certain(const char *text);

/*
 * Stores the specifier that means the same: 1.  0: the text is no spelling of perf's.  -EINVAL with
 * the reason: perf knows it, and it has no meaning here.
 */
int perf_spell(const struct machine *m, const char *text, char out[EVSPEC_MAX + 1],
	       struct reason *why);

#endif

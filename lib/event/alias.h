/* SPDX-License-Identifier: BSD-2-Clause */
/* Second names of events: FreeBSD's machine-independent names, and names in single classes. */
#ifndef PMCBPF_EVENT_ALIAS_H
#define PMCBPF_EVENT_ALIAS_H

#include "evspec.h"

/*
 * If the text before the first comma is an alias, stores its spellings on this machine: specifiers
 * to be tried one after the other, each with the qualifiers of `text` appended.  Returns their
 * number; 0 if it is no alias, or has no meaning here: then the classes may still know the name.
 */
#define ALIAS_MAX_SPELLINGS 4u
unsigned int alias_spell(const char *text, const struct evspec_machine *m,
			 char out[ALIAS_MAX_SPELLINGS][EVSPEC_MAX + 1]);

/* The i-th alias; "" if it has no meaning on this machine, NULL after the last. */
const char *alias_name(unsigned int i, const struct evspec_machine *m);
/* True if some machine has an alias of that name. */
bool alias_is_known(const char *name);

/* FreeBSD's names of the fixed Intel events, and perf's names of SOFT events; else NULL. */
const char *alias_iaf_event(const char *name);
const char *alias_soft_event(const char *name);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From when to when the programs expect to see every context switch; bpf/count/seen.bpf.h has the
 * model.
 */
#ifndef PMCBPF_SWITCHES_H
#define PMCBPF_SWITCHES_H

#include <stdint.h>

struct engine;

/* The program is attached; what it has noted before that is not known to be true. */
void switches_begin(const struct engine *e);
/* Each CPU has been flushed since: from now on a switch that was not seen was hidden. */
void switches_watch(const struct engine *e);
/* Before the program may be detached. */
void switches_unwatch(const struct engine *e);
/* It has been: slices left open would be closed by a later attach. */
void switches_end(const struct engine *e);

/* How many context switches were hidden so far, while there were slices or NEED_SWITCH. */
uint64_t switches_hidden(const struct engine *e);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The period in which the programs expect to see every context switch; bpf/count/seen.bpf.h has the
 * model.
 */
#ifndef PMCBPF_SWITCHES_H
#define PMCBPF_SWITCHES_H

#include <stdint.h>

struct engine;

/* Call it when the program has been attached: its earlier notes may be outdated. */
void switches_begin(const struct engine *e);
/* Call it once each CPU has been flushed: a switch that is not seen from now on was hidden. */
void switches_watch(const struct engine *e);
/* Call it before the program may be detached. */
void switches_unwatch(const struct engine *e);
/* Call it after the detachment: a later attachment would close slices that were left open. */
void switches_end(const struct engine *e);

/* Number of hidden context switches so far, while there were slices or NEED_SWITCH. */
uint64_t switches_hidden(const struct engine *e);

#endif

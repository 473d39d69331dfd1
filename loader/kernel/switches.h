/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Part of the engine: from when to when the programs expect to see every switch.
 * bpf/count/seen.bpf.h has the model.  Only engine.c includes this.
 */
#ifndef PMCBPF_SWITCHES_H
#define PMCBPF_SWITCHES_H

#include <stdint.h>

struct pmcbpf;

/* The program is attached; what it has noted before that is not known to be true. */
void switches_begin(struct pmcbpf *skel);
/* Each CPU has been flushed since: from now on a switch that was not seen was hidden. */
void switches_watch(struct pmcbpf *skel);
/* Before the program may be detached. */
void switches_unwatch(struct pmcbpf *skel);
/* It has been: slices left open would be closed by a later attach. */
void switches_end(struct pmcbpf *skel, volatile struct abi_cpu *cpus, unsigned int ncpu);

/* So many were hidden so far. */
uint64_t switches_hidden(const struct pmcbpf *skel);

#endif

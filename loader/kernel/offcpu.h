/* SPDX-License-Identifier: BSD-2-Clause */
/* The places of PMCs that sample waits: time of threads off the CPUs. */
#ifndef PMCBPF_OFFCPU_H
#define PMCBPF_OFFCPU_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/log/offcpu_abi.h"
#include "loader/base/base.h"

struct engine;
struct offcpus;
struct pmcbpf;

/* NULL: no memory. */
struct offcpus *offcpus_new(const struct engine *e);
void offcpus_free(struct offcpus *o);

/* Takes a place for a PMC, which is stopped.  -EAGAIN: there is none. */
int offcpu_take(struct offcpus *o, struct reason *why);
void offcpu_give(struct offcpus *o, int place);

/* What the programs know of the PMC, and count for it. */
volatile struct abi_offcpu *offcpu_at(const struct offcpus *o, int place);

/* A PMC of system scope starts or stops on the CPU: its waits on SOFT row `row`. */
void offcpu_system(const struct engine *e, unsigned int cpu, unsigned int row, int place, bool on);

/* A PMC of a cgroup starts or stops; -ENOSPC: ABI_OFFCPU_CGROUPS of them run. */
int offcpu_cgroup(const struct engine *e, int place, bool on);

/* Once no PMC samples waits: threads that exit from now on leave nothing behind. */
void offcpu_forget(const struct pmcbpf *skel);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Part of the engine: the program that the daemon runs on a CPU, and whether that and the switch's
 * read registers.  Only engine.c includes this.
 */
#ifndef PMCBPF_FLUSH_H
#define PMCBPF_FLUSH_H

#include <stdbool.h>

#include "bpf/count/count_abi.h"
#include "loader/base/why.h"

struct flush;
struct pmcbpf;

/* The companion module is there, and programs may call it; if not, why. */
bool flush_finds_msr(struct why *why);

/* Before the programs are loaded, which then read registers if `msr` says so. */
int flush_new(struct pmcbpf *skel, bool msr, struct flush **out, struct why *why);
/* After that. */
int flush_attach(struct flush *f, const volatile struct abi_cpu *cpus, struct why *why);
void flush_free(struct flush *f);

/* The open slice of the CPU ends, and goes on. */
void flush_cpu(const struct flush *f, unsigned int cpu);

#endif

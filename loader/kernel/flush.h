/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that brings a CPU's open slice up to date when the daemon runs it there.  Also:
 * whether it and the program at context switches read registers.
 */
#ifndef PMCBPF_FLUSH_H
#define PMCBPF_FLUSH_H

#include <stdbool.h>

#include "loader/base/base.h"

struct engine;
struct flush;
struct pmcbpf;

/* True if the companion module is there and programs may call it. */
bool flush_finds_msr(struct why *why);

/* Call it before the programs are loaded; they read registers unless `no_msr` holds a reason. */
int flush_new(struct pmcbpf *skel, const struct why *no_msr, struct flush **out, struct why *why);
/* Call it after they have been loaded. */
int flush_attach(struct flush *f, const struct engine *e, struct why *why);
void flush_free(struct flush *f);

/* Ends the open slice of the CPU and begins it anew. */
void flush_cpu(const struct flush *f, unsigned int cpu);
/* The same on all online CPUs; also a barrier for changes of sets. */
void flush_all(const struct flush *f);

/* Why sources cannot be registers; NULL if they can. */
const char *flush_no_msr(const struct flush *f);

#endif

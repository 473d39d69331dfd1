/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that the daemon runs on a CPU to bring its open slice up to date; and whether it and
 * the program at context switches read registers.
 */
#ifndef PMCBPF_FLUSH_H
#define PMCBPF_FLUSH_H

#include <stdbool.h>

#include "loader/base/base.h"

struct engine;
struct flush;
struct pmcbpf;

/* The companion module is there, and programs may call it; if not, why. */
bool flush_finds_msr(struct reason *why);

/* Before the programs are loaded, which then read registers unless `no_msr` has a reason. */
int flush_new(struct pmcbpf *skel, const struct reason *no_msr, struct flush **out,
	      struct reason *why);
/* After that. */
int flush_attach(struct flush *f, const struct engine *e, struct reason *why);
void flush_free(struct flush *f);

/* The open slice of the CPU ends, and goes on.  0; -errno: the kernel did not run the program. */
int flush_cpu(const struct flush *f, unsigned int cpu);
/* Of all online CPUs; also a barrier for changes of sets.  The first error of a CPU. */
int flush_all(const struct flush *f);
/* The reason for an error of the two; returns it. */
int flush_deny(int err, struct reason *why);

/* Why sources cannot be registers; NULL: the programs read them. */
const char *flush_no_msr(const struct flush *f);

#endif

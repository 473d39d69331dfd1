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

/* The uses that programs have for the companion module. */
struct flush_module {
	bool counters;			/* it reads hardware counters */
	struct reason no_msr;		/* why it reads no registers; "" if it does */
};

void flush_find_module(struct flush_module *m);

/* Call it before the programs are loaded. */
int flush_new(struct pmcbpf *skel, const struct flush_module *m, struct flush **out,
	      struct reason *why);
/* Call it after they have been loaded. */
int flush_attach(struct flush *f, const struct engine *e, struct reason *why);
void flush_free(struct flush *f);

/* Ends the open slice of the CPU and begins it anew; -errno: the kernel did not run the program. */
int flush_cpu(const struct flush *f, unsigned int cpu);
/* The same on all online CPUs; also a barrier for changes of sets.  Returns the first error. */
int flush_all(const struct flush *f);

/*
 * Flushes the CPU and adds its counts of that instant to sum[ABI_COUNTS]: those of the owner in
 * `slot`, whose counts of this CPU are `k`.
 */
int flush_snapshot(const struct flush *f, unsigned int cpu, unsigned int slot,
		   const volatile struct abi_counts *k, uint64_t *sum);
/* Writes the reason for an error of these two functions, and returns the error. */
int flush_deny(int err, struct reason *why);

/* The reason if sources cannot be registers; NULL if they can. */
const char *flush_no_msr(const struct flush *f);
/* True if programs read hardware counters through the module, not by a helper. */
bool flush_reads_counters(const struct flush *f);
/* How many counters differed from the helper's values, so that the helper reads them. */
unsigned long long flush_counters_disagreed(const struct flush *f);

#endif

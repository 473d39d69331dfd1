/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples whose chains end in a file that has no table yet, and are completed when it is there.
 *
 * The program copies the registers, the mappings and the stack into a record that belongs to such
 * a sample (kept_record.h).  The sample and the records behind it wait in their log
 * (logfile_defer()) while the table is built, LATE_NS at most; then the walk goes on over the copy.
 * It may come to another such file and wait again.  A sample is written in any case: cut, if the
 * table comes too late.
 *
 * Bounds: copies of a file (UNWIND_COPIES), the rings, and memory of a user (POOL_LATE).  Without
 * any of them a sample is written as the program has taken it.
 */
#ifndef PMCBPF_LATE_SAMPLE_H
#define PMCBPF_LATE_SAMPLE_H

#include "bpf/log/log_abi.h"
#include "loader/kernel/kernel.h"
#include "loader/log/log.h"
#include "kept_record.h"

#define LATE_NS 5000000000ull

struct pmc;
struct sample_chains;

struct late_sample {
	struct log_late late;		/* first */
	struct sample_chains *chains;	/* the caller's */
	struct pmc *pmc;
	const struct unwinder *u;
	uint64_t until, turns;
	unsigned int kb;		/* charged to the PMC's user */
	struct abi_rec rec;
	uint64_t pc[STACK_WALK_CHAIN];
	uint64_t stack[];		/* struct abi_stack, and what is behind it */
};

/* A sample with its copy; NULL: it has none, or there is no memory. */
struct late_sample *late_sample_new(struct kept_records *kept, const struct unwinder *u,
				    struct pmc *p, const struct abi_rec *rec, const uint64_t *data);
void late_sample_free(struct late_sample *s);
/* False: not yet.  Then `rec` and `pc` are the sample's as far as it is known; always if `now`. */
bool late_sample_complete(struct late_sample *s, bool now);

#endif

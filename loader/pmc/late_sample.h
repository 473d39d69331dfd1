/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Samples and waits whose chains end in a file that has no table yet, and are completed when it is
 * there.
 *
 * The program copies the registers, the mappings and the stack into a record that belongs to such
 * a sample (kept_record.h).  The sample and the records behind it wait in their log
 * (logfile_defer()) while the table is built, LATE_NS at most; then the walk goes on over the copy.
 * It may come to another such file and wait again.  A sample is written in any case: cut, if the
 * table comes too late.
 *
 * Its Python frames were taken with it.  They join the native frames when it is complete.
 *
 * Bounds: copies of a file (UNWIND_COPIES), the rings, and memory of a user (POOL_LATE).  Without
 * any of them a sample is written as the program has taken it.
 */
#ifndef PMCBPF_LATE_SAMPLE_H
#define PMCBPF_LATE_SAMPLE_H

#include "bpf/log/offcpu_abi.h"
#include "loader/kernel/kernel.h"
#include "loader/log/log.h"
#include "kept_record.h"

#define LATE_NS 5000000000ull

struct offcpu_log;
struct pmc;
struct pmclog_ev;
struct sample_chains;

struct late_sample {
	struct log_late late;		/* first */
	struct sample_chains *chains;	/* the caller's */
	struct pmc *pmc;
	struct offcpu_log *offcpu;	/* of a wait, the caller's … */
	struct pmclog_ev *waker;	/* … and the record of its waker, or NULL */
	struct abi_python *python;	/* Python frames, with room for more pointers; or NULL */
	const struct unwinder *u;
	uint64_t until, turns;
	unsigned int kb;		/* charged to the PMC's user */
	struct abi_rec rec;
	unsigned int head;		/* words of `data` before the addresses */
	uint64_t data[ABI_OFFCPU_WORDS + STACK_WALK_CHAIN];
	uint64_t stack[];		/* struct abi_stack, and what is behind it */
};

/* A sample or wait with its copy; NULL: it has none, or there is no memory. */
struct late_sample *late_sample_new(struct kept_records *kept, const struct unwinder *u,
				    struct pmc *p, const struct abi_rec *rec, const uint64_t *data);
/* Keeps copies of its Python frames and of a wait's waker, if there are any; -ENOMEM. */
int late_sample_keep(struct late_sample *s, const struct abi_python *python,
		     const struct pmclog_ev *waker);
void late_sample_free(struct late_sample *s);
/* False: not yet.  Otherwise, and always if `now`, `rec` and `data` are the sample. */
bool late_sample_complete(struct late_sample *s, bool now);

#endif

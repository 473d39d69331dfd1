/* SPDX-License-Identifier: BSD-2-Clause */
/* Waits of threads, from the rings to an owner's log. */
#ifndef PMCBPF_OFFCPU_LOG_H
#define PMCBPF_OFFCPU_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include <pmclog.h>

#include "bpf/log/log_abi.h"
#include "bpf/log/offcpu_abi.h"

struct logfile;
struct pmc;
struct sample_python;

/* What a log has of a PMC's waits. */
struct offcpu_log {
	const struct logfile *log;	/* that has the names of … */
	uint32_t named;			/* … bit r: reason r */
	struct abi_offcpu_counts counts;
};

static inline bool record_is_sample(const struct abi_rec *rec)
{
	return rec->kind == ABI_REC_SAMPLE || rec->kind == ABI_REC_OFFCPU;
}

/* A wait's Python frames: sample_python_frames(). */
const struct abi_python *offcpu_log_frames(struct sample_python *python, const struct abi_rec *rec);

/*
 * Writes a wait as one sample for each reason: its length, and the reason before its addresses.
 * `frames`: its Python frames; `waker`: the record of its waker, for the part until the wake-up;
 * NULL: none.  True: it is in the log; *c has its flags.
 */
bool offcpu_log_wait(struct offcpu_log *o, struct sample_python *python, const struct pmc *p,
		     const struct abi_rec *rec, const uint64_t *data,
		     const struct abi_python *frames, const struct pmclog_ev *waker,
		     struct pmclog_ev_callchain *c);

/* Writes the names that offcpu_log_wait() needs for that wait before it. */
void offcpu_log_names(struct offcpu_log *o, const struct pmc *p, const struct abi_rec *rec,
		      const uint64_t *data);

/* Logs what became of the other waits since the last time, if there were any. */
void offcpu_log_counts(struct offcpu_log *o, const struct pmc *p);

#endif

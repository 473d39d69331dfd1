/* SPDX-License-Identifier: BSD-2-Clause */
/* A recorder, see sample_log.h; sample_log.c's and recorder.c's own. */
#ifndef PMCBPF_RECORDER_H
#define PMCBPF_RECORDER_H

#include "bpf/log/log_abi.h"
#include "offcpu_log.h"
#include "sample_needs.h"
#include "value_record.h"

struct engine;
struct pmc;
struct sample_log;
struct samplers;

struct recorder {
	struct sample_log *t;
	struct engine *engine;
	struct samplers *samplers;	/* of a PMC that samples */
	struct pmc *pmc;
	bool samples;			/* the PMC samples; false: it counts */
	bool waits;			/* its samples are waits … */
	struct offcpu_log offcpu;	/* … and these are in the log */
	int program;			/* the samplers' program */
	uint64_t tag;			/* of the PMC's events */
	struct sample_need need;
	bool lost;			/* count_is_lost() was true, and that is logged */
	bool paused;			/* the kernel has paused it, and that is logged */
	bool profiles;			/* feeds the kernel profile now */
	uint32_t id;
	struct value_clock clock;	/* of a counting PMC */
	uint64_t before;		/* samples of sampler_counts() that were not this PMC's */
	struct abi_samples accounted;	/* the part of sampler_counts() accounted for */
};
/* Logs a record of a PMC that counts. */
void recorder_put_value(struct recorder *tr, const struct abi_rec *rec, const uint64_t *data);

#endif

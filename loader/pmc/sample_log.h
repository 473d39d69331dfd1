/* SPDX-License-Identifier: BSD-2-Clause */
/* From the CPUs' rings to the owners' logs. */
#ifndef PMCBPF_TRACE_H
#define PMCBPF_TRACE_H

#include "lib/base/wire.h"
#include "loader/kernel/sampler.h"

struct engine;
struct kgmon;
struct lifelog;
struct pmc;
struct trace;
struct tracer;

/* The rings themselves are made when the first PMC samples. */
int trace_new(struct trace **out, const struct samplers_config *config, struct engine *engine,
	      struct lifelog *life, struct kgmon *kgmon, struct why *why);
void trace_free(struct trace *t);

/* Logs come and go: while there is one, processes are watched for it. */
void trace_listen(struct trace *t, bool on);

/* Readable when it is time for trace_drain(), which is quick when there is nothing to do. */
int trace_fd(const struct trace *t);
void trace_drain(struct trace *t);
/* The same, once all slices that are open on any CPU have ended. */
void trace_flush(struct trace *t);

/* The profiling clock, which samples for the kernel profile alone. */
int trace_clock(struct trace *t, bool on, struct why *why);

/* Adds what the rings know to the driver's statistics. */
void trace_stats(const struct trace *t, struct wire_driverstats *stats);
/* Call chains in all logs that lack callers. */
uint64_t trace_chains_cut(const struct trace *t);

/*
 * The source of a PMC's records, which go to its owner's log while it runs.  The events of a
 * sampling PMC have the program as well.
 */
int tracer_new(struct trace *t, struct pmc *p, struct tracer **out, struct why *why);
void tracer_free(struct tracer *tr);
/* The PMC starts, and has stopped.  -EBUSY: a kernel profile that does not take its samples. */
int tracer_start(struct tracer *tr, struct why *why);
void tracer_stop(struct tracer *tr);
int tracer_program(const struct tracer *tr);
/* What the events of a sampling PMC carry for the program: struct perf_event_spec. */
uint64_t tracer_tag(const struct tracer *tr);
/* Takes in what it has left: to be called once it has stopped, and before anybody forgets it. */
void tracer_drain(struct tracer *tr);
/*
 * The PMC measures the process no longer, by a detach or (`exec`) by a set-id exec.  What the
 * process has had of it is told like at an exit, or forgotten.
 */
void tracer_left(struct tracer *tr, pid_t tgid, bool exec);
/* Its number in records. */
uint32_t tracer_id(const struct tracer *tr);

#endif

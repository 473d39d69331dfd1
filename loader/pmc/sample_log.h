/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the CPUs' rings to the owners' logs: samples, and the values of counting PMCs at context
 * switches and exits.
 *
 * One drain, in the loop, ten times a second or when a ring is half full:
 *
 *   1. lifelog_collect() (lifetime.h) reads the events of processes and returns the horizon: the
 *	time up to which they are known.
 *   2. rings_drain() (kernel/ring.h) merges the rings of all CPUs by time, up to the horizon.
 *   3. Before each record, lifelog_tell() writes the events of processes up to the record's time,
 *	so that a log names a process before it has a sample of it.
 *   4. The record's number leads to its tracer, and so to the PMC and its owner.  A sample goes
 *	to the owner's log if lifelog_hears() allows it; chain.c cuts its addresses to those the
 *	owner may have.  Samples of PMCs with PMC_F_KGMON go to the kernel profile instead.
 *   5. Each tracer compares the programs' counts of samples, drops and pauses with those of the
 *	last drain, and marks a gap in its log for what is missing.
 *
 * A *tracer* is a PMC's place here: its number in records (slot | generation), and for a sampling
 * PMC the program and tag that its perf events carry.  Example: a PMC is released while samples of
 * it are in the rings; its slot is free, the generation of the next tracer differs, and the late
 * samples match no tracer.
 */
#ifndef PMCBPF_SAMPLE_LOG_H
#define PMCBPF_SAMPLE_LOG_H

#include "lib/base/wire.h"
#include "loader/kernel/sampler.h"

struct engine;
struct kgmon;
struct lifelog;
struct pmc;
struct trace;
struct tracer;

/* The rings themselves are made when the first PMC samples. */
int trace_new(struct trace **out, const struct samplers_config *config,
	      struct engine *engine, struct lifelog *life, struct kgmon *kgmon, struct why *why);
void trace_free(struct trace *t);

/* A log begins or ends: while there is one, events of processes are read for it. */
void trace_listen(struct trace *t, bool on);

/* Readable when trace_drain() is due, which is quick if there is nothing to do. */
int trace_fd(const struct trace *t);
void trace_drain(struct trace *t);
/* The same, after all slices that are open on any CPU have been ended. */
void trace_flush(struct trace *t);

/* The profiling clock, which samples for the kernel profile alone. */
int trace_clock(struct trace *t, bool on, struct why *why);

/* Adds the rings' counts to the driver's statistics. */
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
/* Reads its last records: call it after the PMC has stopped, and before its count is freed. */
void tracer_drain(struct tracer *tr);
/*
 * The PMC no longer measures the process, by a detach or (`exec`) by a set-id exec.  After such an
 * exec the process's share is logged as at an exit; after a detach it is dropped.
 */
void tracer_left(struct tracer *tr, pid_t tgid, bool exec);
/* Its number in records. */
uint32_t tracer_id(const struct tracer *tr);

#endif

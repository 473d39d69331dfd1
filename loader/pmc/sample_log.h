/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the CPUs' rings to the owners' logs: samples, and the values of counting PMCs at context
 * switches and exits.
 *
 * One drain, in the loop, ten times a second or when a ring is half full:
 *
 *   1. lifetime_collect() (lifetime.h) reads the events of processes and returns the horizon: the
 *	time up to which they are known.
 *   2. rings_drain() (kernel/ring.h) merges the rings of all CPUs by time, up to the horizon.
 *   3. Before each record, lifetime_write() writes the events of processes up to the record's time,
 *	so that a log names a process before it has a sample of it.
 *   4. The record's number leads to its recorder, and so to the PMC and its owner.  A sample goes
 *	to the owner's log if lifetime_admits() allows it; chain.c cuts its addresses to those the
 *	owner may have.  Samples of PMCs with PMC_F_KGMON go to the kernel profile instead.
 *	A sample that comes before its file's table waits in its log: late_sample.h.
 *   5. Each recorder compares the programs' counts of samples, drops and pauses with those of the
 *	last drain, and marks a gap in its log for missing ones.
 *
 * A drain ends early where the kernel has not yet written all of an exec.  Operations behind which
 * records would be dropped wait for the next drains: sample_log_complete(), sample_log_finish().
 *
 * A *recorder* is a PMC's place here: its number in records (slot | generation), and for a sampling
 * PMC the program and tag that its perf events carry.  Example: a PMC is released while samples of
 * it are in the rings; its slot is free, the generation of the next recorder differs, and the late
 * samples match no recorder.
 */
#ifndef PMCBPF_SAMPLE_LOG_H
#define PMCBPF_SAMPLE_LOG_H

#include "lib/base/wire.h"
#include "loader/kernel/kernel.h"

struct engine;
struct kgmon;
struct lifetime;
struct owner;
struct pmc;
struct sample_log;
struct recorder;
struct user;

/* The rings themselves are created when the first PMC samples. */
int sample_log_new(struct sample_log **out, const struct samplers_config *config,
		   struct engine *engine, struct lifetime *life, struct kgmon *kgmon,
		   struct reason *why);
void sample_log_free(struct sample_log *t);

/* A log begins or ends: while there is one, events of processes are read for it. */
void sample_log_listen(struct sample_log *t, bool on);

/* Readable when sample_log_drain() is due, which returns quickly if there is nothing to do. */
int sample_log_fd(const struct sample_log *t);
void sample_log_drain(struct sample_log *t);
/* Drains until all records up to now are written: the fiber waits for execs in progress. */
void sample_log_complete(struct sample_log *t);
/* The same, and until late samples (late_sample.h) are in the owner's log. */
void sample_log_write(struct sample_log *t, struct owner *o);
/*
 * The same where the owner's log, or a PMC of it, ends.  The log has a gap if records are still
 * missing then, or wait for the end of a long exec.
 */
void sample_log_finish(struct sample_log *t, struct owner *o);
/* sample_log_drain() after open slices have been ended on every CPU; errors as of flush_all(). */
int sample_log_flush(struct sample_log *t);

/*
 * Loads the programs that sample, for the first user that needs them; `wakers`: those of wakers,
 * too.  To be called before recorder_new() and sample_log_clock().  True: the fiber has waited for
 * that.
 */
bool sample_log_prepare(struct sample_log *t, bool wakers, struct user *user);
/* The profiling clock, which samples for the kernel profile alone. */
int sample_log_clock(struct sample_log *t, bool on, struct reason *why);

/* Adds the rings' counts to the driver's statistics. */
void sample_log_stats(const struct sample_log *t, struct wire_driverstats *stats);
/* Call chains in all logs. */
const struct wire_losses *sample_log_losses(const struct sample_log *t);

/*
 * Creates the source of a PMC's records, which go to its owner's log while it runs.  The events of
 * a sampling PMC run the program as well.  `rate`: ticks a second of a clock whose count is in
 * nanoseconds, or 0.
 */
int recorder_new(struct sample_log *t, struct pmc *p, uint32_t rate, struct recorder **out,
		 struct reason *why);
void recorder_free(struct recorder *tr);
/* After recorder_new(): the PMC's samples are waits. */
int recorder_wait(struct recorder *tr, struct reason *why);
/* The PMC starts, and has stopped.  -EBUSY: the kernel profile does not accept its samples. */
int recorder_start(struct recorder *tr, struct reason *why);
void recorder_stop(struct recorder *tr);
int recorder_program(const struct recorder *tr);
/* The tag of a sampling PMC's events, for struct perf_event_spec. */
uint64_t recorder_tag(const struct recorder *tr);
/*
 * sample_log_complete() after the PMC has stopped, and before its count is freed.  Samples that are
 * still missing then are reported as lost.
 */
void recorder_finish(struct recorder *tr);
/* The PMC no longer measures the process: returns its share of the count.  NULL: 0. */
uint64_t recorder_left(struct recorder *tr, pid_t tgid);
/* Logs the process's share as at an exit, if the PMC logs exits. */
void recorder_log_share(struct recorder *tr, pid_t tgid, uint64_t time, uint64_t share);
/* A PMC with PMC_F_SIGNAL: sampler_set_signal(), and the samples up to now with their signals. */
int recorder_set_signal(struct recorder *tr, int signal, bool waits, uint32_t n);
uint64_t recorder_overflows(const struct recorder *tr, struct sampler_signals *signals);
/* Its number in records. */
uint32_t recorder_id(const struct recorder *tr);

#endif

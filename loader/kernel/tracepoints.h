/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of hits, of tracepoints and of probes (probes.h), which BPF programs keep for each CPU:
 * sources that slices are cut from, like perf's events, at a part of the cost.  A tracepoint or
 * probe that several PMCs count has one counter.  The programs are tracepoint.bpf.c and
 * probe.bpf.c.
 */
#ifndef PMCBPF_TRACEPOINTS_H
#define PMCBPF_TRACEPOINTS_H

#include <stdint.h>

#include "loader/base/base.h"
#include "perf.h"
#include "probes.h"

struct engine;
struct helpers;
struct tracepoints;

struct tracepoints *tracepoints_new(struct engine *e);
void tracepoints_free(struct tracepoints *t);
/* Lets helpers close descriptors that the kernel delays. */
void tracepoints_helpers_from(struct tracepoints *t, struct helpers *helpers);

/*
 * Takes the counter of the tracepoint "SYSTEM:NAME", whose perf event is `spec`; it runs from now
 * on.  `samples`: a counter whose program also samples, with records if `spec` has `raw`, and which
 * counts the hits that pass the filter of `spec`, if there is one.  Returns the source's number, or
 * -errno; -ENOSPC: all counters are in use; -ENOSYS: it is one that only perf can count.
 */
int tracepoints_take(struct tracepoints *t, const char *name, bool samples,
		     const struct perf_event_spec *spec, struct reason *why);
/* The same for a probe in user code.  -EOPNOTSUPP: the kernel refuses it. */
int tracepoints_take_probe(struct tracepoints *t, const struct probe_spec *spec,
			   struct reason *why);
/*
 * Samples a CPU's hits for the PMC of that tag, until the second call.  -ENOSPC: too many PMCs.
 * Processes' hits are sampled for the members of their sets.
 */
int tracepoints_sample(struct tracepoints *t, int source, unsigned int cpu, uint32_t tag);
void tracepoints_sample_end(struct tracepoints *t, int source, unsigned int cpu, uint32_t tag);
/* The same for the hits in a cgroup, on all CPUs. */
int tracepoints_sample_cgroup(struct tracepoints *t, int source,
			      const struct abi_cgroup_sampler *of);
void tracepoints_sample_cgroup_end(struct tracepoints *t, int source, uint32_t tag);
/*
 * Loads the program of a counter that samples, in the `user`'s turn; true: the fiber has waited.
 * To be called right before the counter is taken, which loads it else, and reports errors.
 */
bool tracepoints_prepare(struct tracepoints *t, const char *name,
			 const struct perf_event_spec *spec, uint64_t *user);
bool tracepoints_prepare_probe(struct tracepoints *t, const struct probe_spec *spec,
			       uint64_t *user);
/* probe_missed(); 0 for tracepoints. */
uint64_t tracepoints_missed(const struct tracepoints *t, int source, bool all);
void tracepoints_give(struct tracepoints *t, int source);
/* The counter's value on one CPU. */
int tracepoints_now(const struct tracepoints *t, int source, unsigned int cpu, uint64_t *value);

/* As tracefs_id(), without a look at tracefs while the tracepoint is counted. */
int tracepoints_id(struct tracepoints *t, const char *name, uint64_t *id, struct reason *why);

/* 0 if perf opens the event here and takes its filter, else the reason; *refused: the filter. */
int tracepoints_check(struct tracepoints *t, const char *name, const struct perf_event_spec *spec,
		      bool *refused, struct reason *why);

/* Closes a tracepoint's event, for whose end the kernel may wait long. */
void tracepoints_close_event(const struct tracepoints *t, int fd);

/* Reads the names of all anew; the i-th of them, in alphabetical order, or NULL. */
void tracepoints_list(struct tracepoints *t);
const char *tracepoints_listed(const struct tracepoints *t, unsigned int i);

/* Detaches programs that were not needed for a moment; see programs_settle(). */
int tracepoints_settle(struct tracepoints *t);

/* Runs tracepoint_ctl, see enum abi_tracepoint_ctl; its result is in `learned`.  0 or -errno. */
int tracepoints_ctl(const struct engine *e, uint64_t op, uint64_t a, uint64_t b, uint64_t c);

#endif

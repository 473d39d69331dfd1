/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The only user of libbpf: loads the programs, attaches each while somebody needs it, owns the maps
 * and the free-running sources that slices are cut from.
 */
#ifndef PMCBPF_ENGINE_H
#define PMCBPF_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "../bpf/pmc_abi.h"
#include "perf.h"
#include "why.h"

struct engine;

/* Loads and verifies everything; -errno with the verifier's last lines in `why` on failure. */
int engine_new(struct engine **out, struct why *why);
void engine_free(struct engine *e);

/*
 * What `pmcbpfd -t` asks: calls say() with one line for every kernel feature that is missing,
 * naming it and the remedy; returns how many are.
 */
unsigned int engine_check(void (*say)(void *arg, const char *line), void *arg);

/* False for a SOFT event whose tracepoint this kernel lacks; such an event is not registered. */
bool engine_has_soft(const struct engine *e, uint32_t code);

/* The user side of sets and targets, which lives as long as the maps. */
struct targets;
struct targets *engine_targets(const struct engine *e);

unsigned int engine_ncpu(const struct engine *e);

/* --- programs: attached from the first need to the last ------------------------------------- */

enum engine_need {
	NEED_SWITCH,	/* slices */
	NEED_FINAL,	/* CPU time of exited threads, where there are no slices */
	NEED_LIFE,	/* fork and exit of targets */
	NEED_FAULT,	/* the hooks' counters */
	NEED_LOCK,
	NEED_KIND,
	NEEDS
};
int engine_need(struct engine *e, enum engine_need what, struct why *why);
void engine_unneed(struct engine *e, enum engine_need what);

/* --- sources ---------------------------------------------------------------------------------- */

/* A per-CPU event that runs from now on, on every online CPU. Source number or -errno. */
int engine_source_open(struct engine *e, const struct perf_event_spec *spec, struct why *why);
void engine_source_close(struct engine *e, int source);
/* On one CPU only: there it counts nothing any more and its counter is free. */
void engine_source_close_cpu(struct engine *e, int source, unsigned int cpu);
/* True once a program could not read the source: its counter was taken away. */
bool engine_source_lost(const struct engine *e, int source);
/* A hook's counter on a CPU. */
uint64_t engine_hook_read(const struct engine *e, unsigned int hook, unsigned int cpu);

/* --- owners' counts, sets, targets ------------------------------------------------------------ */

struct engine_counts {
	unsigned int slot;		/* index of the `owners` map */
	int fd;				/* frozen, may be passed to the owner */
	const volatile struct abi_counts *cpu; /* one element per CPU */
};
int engine_counts_new(struct engine *e, struct engine_counts *c, struct why *why);
void engine_counts_free(struct engine *e, struct engine_counts *c);

/* The kernel's copy of a set, written in place. */
volatile struct abi_set *engine_set(struct engine *e, unsigned int id);

int engine_target_ctl(struct engine *e, enum abi_ctl op, uint32_t tgid, uint32_t set,
		      uint64_t keep);
int engine_target_get(const struct engine *e, uint32_t tgid, struct abi_target *t);
/* Walks all targets: *tgid 0 starts; false at the end. */
bool engine_target_next(const struct engine *e, uint32_t *tgid);
/*
 * Children of targets that found no room since the start; counts with descendants are then wrong.
 */
uint64_t engine_lost_targets(const struct engine *e);

/* Between the two, every fork of the system is noted. */
void engine_walk_begin(struct engine *e);
void engine_walk_end(struct engine *e);
/* The forks noted so far; -EAGAIN when there were more than fit. */
int engine_births(const struct engine *e, const struct abi_birth **births);

/* Brings one CPU's open slice up to date, or all online CPUs'; also a barrier for set changes. */
void engine_flush(struct engine *e, unsigned int cpu);
void engine_flush_all(struct engine *e);

/* Runs the task iterator over args (in and out). */
int engine_visit(struct engine *e, struct abi_visit_args *args);
/* Changes whenever a target thread exits; odd while an exit is being accounted. */
uint64_t engine_exits(const struct engine *e);

#endif

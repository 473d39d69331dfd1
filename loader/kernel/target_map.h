/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets, sets and hooks as the programs have them, and the forks that they note.  The kernel's
 * copy of a target is the truth: children join it without the daemon.
 */
#ifndef PMCBPF_TARGET_MAP_H
#define PMCBPF_TARGET_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/count_abi.h"

struct engine;

int target_map_ctl(struct engine *e, enum abi_ctl op, uint32_t tgid, uint32_t set, uint64_t keep);
int target_map_get(const struct engine *e, uint32_t tgid, struct abi_target *t);

/* A walk over all targets: begins with `more` true and the rest 0. */
struct target_walk {
	uint32_t at;
	bool begun, more;
};
/* The next ones, at most `max`; returns how many, or -errno: the walk has ended too early. */
int target_map_next(const struct engine *e, struct target_walk *w, uint32_t *tgid,
		    struct abi_target *t, unsigned int max);

/* The kernel's copy of a set, written in place. */
volatile struct abi_set *target_map_set(struct engine *e, unsigned int id);
/* A hook's counter on a CPU. */
uint64_t target_map_hook(const struct engine *e, unsigned int hook, unsigned int cpu);

/*
 * Between the two, every fork of the system is noted.  Several walks may be under way: each begins
 * with the number of forks that have been noted before it, and looks at those behind that.
 */
uint32_t target_map_births_begin(struct engine *e);
void target_map_births_end(struct engine *e);
/* So many forks have been noted; of these the last ABI_MAX_BIRTHS can be looked at. */
uint32_t target_map_births(const struct engine *e);
struct abi_birth target_map_birth(const struct engine *e, uint32_t n);

#endif

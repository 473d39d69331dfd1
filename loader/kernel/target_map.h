/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Targets, sets and hooks in the programs' maps, and the forks that the programs note.  The
 * kernel's copy of a target is authoritative: children join it without the daemon.
 */
#ifndef PMCBPF_TARGET_MAP_H
#define PMCBPF_TARGET_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/count_abi.h"

struct engine;

int target_map_ctl(struct engine *e, enum abi_ctl op, uint32_t tgid, uint32_t set, uint64_t keep);
int target_map_get(const struct engine *e, uint32_t tgid, struct abi_target *t);

/* A walk over all targets; set `more` to true and the rest to 0. */
struct target_walk {
	uint32_t at;
	bool begun, more;
};
/* Reads the next targets, at most `max`; returns their number, or -errno at an early end. */
int target_map_next(const struct engine *e, struct target_walk *w, uint32_t *tgid,
		    struct abi_target *t, unsigned int max);

/* The kernel's copy of a set, written in place. */
volatile struct abi_set *target_map_set(struct engine *e, unsigned int id);
/* Marks a plain set (plain_sets in bpf/count/maps.bpf.h): a switch is quicker then. */
void target_map_mark_plain(struct engine *e, unsigned int id, bool plain);
/*
 * The PMC at that place of an owner's counts counts this thread alone, by its number in the initial
 * namespace; ABI_THREAD_GONE: none.
 */
int target_map_alone(struct engine *e, uint32_t owner, uint32_t pos, uint32_t tid);
void target_map_alone_end(struct engine *e, uint32_t owner, uint32_t pos);
/* A hook's counter on a CPU. */
uint64_t target_map_hook(const struct engine *e, unsigned int hook, unsigned int cpu);

/*
 * Between these two calls every fork of the system is noted.  Several walks may be under way: each
 * begins with the number of forks noted before it, and looks at later ones only.
 */
uint32_t target_map_births_begin(struct engine *e);
void target_map_births_end(struct engine *e);
/* Number of forks noted so far; the last ABI_MAX_BIRTHS of them can be read. */
uint32_t target_map_births(const struct engine *e);
struct abi_birth target_map_birth(const struct engine *e, uint32_t n);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that all sampling PMCs share, and the rings that it fills; the engine's part for
 * that.  The program is loaded at the start; the rings are made for the first sampling PMC and
 * kept.
 */
#ifndef PMCBPF_SAMPLER_H
#define PMCBPF_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

struct samplers;

struct samplers_config {
	unsigned int ncpu;
	unsigned int nsamples;		/* entries of a CPU's ring: kern.hwpmc.nsamples */
	const int *depth;		/* addresses of a side: kern.hwpmc.callchaindepth, which may
					   change: PMCs have what it was when they came */
	int map;			/* of the rings; the engine's */
	const struct abi_level *level;	/* programs_nested() */
};

/* A kernel that refuses the program is no failure of this: samplers_program() is. */
int samplers_new(const struct samplers_config *config, struct samplers **out, struct reason *why);
void samplers_free(struct samplers *s);

/* Makes the rings, if there are none yet. */
int samplers_begin(struct samplers *s, struct reason *why);
/* Readable when a ring is half full; -1 and NULL before samplers_begin(). */
int samplers_fd(const struct samplers *s);
struct rings *samplers_rings(const struct samplers *s);

/*
 * To be attached to perf events, whose copies in new threads and processes have it too.  -errno:
 * this kernel does not take it.
 */
int samplers_program(const struct samplers *s, struct reason *why);

/* What the program records of a PMC. */
struct sampler_spec {
	uint32_t id;			/* the number that its records bear */
	bool chain;
	bool both_sides;
	bool hides_kernel;		/* no address of the kernel gets as far as the ring */
};

/*
 * The program knows the PMC of this number until sampler_clear().  Returns the tag of the PMC's
 * events.  Two numbers that differ by a multiple of ABI_SAMPLERS are never set at a time.
 */
uint64_t sampler_set(struct samplers *s, const struct sampler_spec *spec);
void sampler_clear(struct samplers *s, uint32_t id);
/* Of this number and those before it that have its place: the caller takes differences. */
struct abi_samples sampler_counts(const struct samplers *s, uint32_t id);

#endif

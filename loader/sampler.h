/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sampling programs and the rings that they fill; the engine's part for that, made at the first
 * sampling PMC and kept.
 */
#ifndef PMCBPF_SAMPLER_H
#define PMCBPF_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "ring.h"

struct samplers;
struct sampler;

struct samplers_config {
	unsigned int ncpu;
	unsigned int nsamples;		/* entries of a CPU's ring: kern.hwpmc.nsamples */
	unsigned int depth;		/* addresses of a side: kern.hwpmc.callchaindepth */
	int map;			/* of the rings; the engine's */
};

int samplers_new(const struct samplers_config *config, struct samplers **out, struct why *why);
void samplers_free(struct samplers *s);
/* Readable when a ring is half full. */
int samplers_fd(const struct samplers *s);
struct rings *samplers_rings(const struct samplers *s);

/* A program whose records bear the number `id`. */
int sampler_new(struct samplers *s, uint32_t id, bool chain, bool both_sides, struct sampler **out,
		struct why *why);
void sampler_free(struct sampler *s);
/* To be attached to perf events, whose copies in new threads and processes have it too. */
int sampler_program(const struct sampler *s);
struct abi_sampler sampler_counts(const struct sampler *s);

#endif

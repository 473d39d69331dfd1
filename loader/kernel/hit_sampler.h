/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program that samples the hits of one tracepoint or probe, and counts them as well: an
 * instance of bpf/count/hits.bpf.c.
 */
#ifndef PMCBPF_HIT_SAMPLER_H
#define PMCBPF_HIT_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/count_abi.h"
#include "bpf/count/filter_abi.h"
#include "bpf/count/record_abi.h"

struct bpf_program;
struct engine;
struct hit_sampler;

enum hit_kind {
	HIT_TRACEPOINT,
	HIT_CALL,		/* a system call's event */
	HIT_RECORD,		/* perf's event of another tracepoint: it has a filter */
	HIT_PROBE,		/* in user code */
	HIT_KERNEL_PROBE,
	HIT_KERNEL_RETURN,
};

/* Which hits count, and whether their records are copied. */
struct hit_spec {
	struct abi_filter filter;
	struct abi_record_shape record;
};

/*
 * Makes an instance for a counter; `spec` NULL: all hits, without records.  0 or -errno.  It is
 * loaded, unless hit_sampler_prepare() with the same arguments came right before.
 */
int hit_sampler_new(struct engine *e, uint32_t slot, enum hit_kind kind,
		    const struct hit_spec *spec, struct hit_sampler **out);
/* Loads an instance in the `user`'s turn, unless there is one; true: the fiber has waited. */
bool hit_sampler_prepare(struct engine *e, enum hit_kind kind, const struct hit_spec *spec,
			 uint64_t *user);
void hit_sampler_free(struct hit_sampler *h);

const struct bpf_program *hit_sampler_program(const struct hit_sampler *h);
/* The kernel has counted so many hits on the CPU before the program was attached. */
void hit_sampler_begin(struct hit_sampler *h, unsigned int cpu, uint64_t hits);
/* The counter is no longer its own: while it is being detached, it does nothing. */
void hit_sampler_end(struct hit_sampler *h);

/* Samples the hits in a cgroup and below it, until the second call.  -ENOSPC: other PMCs do. */
int hit_sampler_add_cgroup(struct hit_sampler *h, const struct abi_cgroup_sampler *of);
void hit_sampler_drop_cgroup(struct hit_sampler *h, uint32_t tag);

/* Samples all hits of a CPU for the PMC of that tag.  -ENOSPC: other PMCs do. */
int hit_sampler_add_cpu(struct hit_sampler *h, unsigned int cpu, uint32_t tag);
void hit_sampler_drop_cpu(struct hit_sampler *h, unsigned int cpu, uint32_t tag);

#endif

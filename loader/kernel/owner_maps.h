/* SPDX-License-Identifier: BSD-2-Clause */
/* The maps that hold owners' counts, made before they are wanted and taken down after. */
#ifndef PMCBPF_COUNTS_H
#define PMCBPF_COUNTS_H

#include "engine.h"

struct counts_pool;

/* `owners`: the map of maps. */
int counts_pool_new(int owners, unsigned int ncpu, struct counts_pool **out, struct why *why);
void counts_pool_free(struct counts_pool *p);

int counts_pool_take(struct counts_pool *p, struct engine_counts *c, struct why *why);
void counts_pool_give(struct counts_pool *p, struct engine_counts *c);

/* One map of the right shape; a descriptor or -errno. */
int counts_map_create(unsigned int ncpu);

#endif

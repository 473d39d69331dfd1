/* SPDX-License-Identifier: BSD-2-Clause */
/* Part of engine.c: on which CPUs perf takes events, as the programs see it. */
#ifndef PMCBPF_BELL_H
#define PMCBPF_BELL_H

#include <bpf/libbpf.h>

#include "engine.h"

struct bell;

struct bell_place {
	struct bpf_program *prog[2];
	int ring;			/* the map by which they wake the daemon */
	unsigned int ncpu;
	const volatile struct abi_cpu *cpus;
	const __u64 *changes;		/* of all CPUs */
};

/* *out is to be freed even when that fails. */
int bell_new(const struct bell_place *place, struct bell **out, struct why *why);
void bell_free(struct bell *b);

int bell_fd(const struct bell *b);
void bell_quiet(struct bell *b);
uint64_t bell_changes(const struct bell *b);
struct engine_cpu bell_cpu(const struct bell *b, unsigned int cpu);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* CPU hotplug: on which CPUs perf accepts events, as the BPF programs see it. */
#ifndef PMCBPF_CPU_BELL_H
#define PMCBPF_CPU_BELL_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/count_abi.h"
#include "loader/base/base.h"

struct bpf_program;
struct cpu_bell;

struct cpu_bell_place {
	struct bpf_program *prog[2];
	int ring;			/* the map through which they wake the daemon */
	unsigned int ncpu;
	const volatile struct abi_cpu *cpus;
	const __u64 *changes;		/* of all CPUs */
};

/* The caller frees *out, also after a failure. */
int cpu_bell_new(const struct cpu_bell_place *place, struct cpu_bell **out, struct reason *why);
void cpu_bell_free(struct cpu_bell *b);

/* Readable after any CPU went or came, until cpu_bell_quiet(). */
int cpu_bell_fd(const struct cpu_bell *b);
void cpu_bell_quiet(struct cpu_bell *b);
/* Grows with each change of any CPU.  The call is one load. */
uint64_t cpu_bell_changes(const struct cpu_bell *b);

struct cpu_state {
	bool here;			/* perf accepts events on it */
	uint32_t changes;
	uint32_t downs;			/* events opened before the latest one are dead */
};
struct cpu_state cpu_bell_cpu(const struct cpu_bell *b, unsigned int cpu);

#endif

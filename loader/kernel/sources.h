/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The free-running sources that slices are cut from: an event on every CPU that is online or comes
 * later, or a register of every CPU.
 */
#ifndef PMCBPF_SOURCES_H
#define PMCBPF_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/count_abi.h"
#include "perf.h"

struct debug;
struct sources;

/* Where the programs read events, and say what they could not read. */
struct sources_place {
	int events;			/* the map */
	unsigned int ncpu;
	volatile struct abi_cpu *cpus;
	__u64 *lost;			/* bit per source, of any CPU */
	struct abi_register *registers;
	__u64 *switches;		/* bit per source that counts switches */
	const char *no_msr;		/* why sources cannot be registers, NULL: they can */
	const struct debug *debug;
};

struct sources *sources_new(const struct sources_place *place);
void sources_free(struct sources *s);
void sources_debug_to(struct sources *s, const struct debug *debug);

/* The number of a source that runs from now on, or -errno. */
int sources_open(struct sources *s, const struct perf_event_spec *spec, struct reason *why);
void sources_close(struct sources *s, int source);
/* On one CPU only: there it counts nothing any more and its counter is free. */
void sources_close_cpu(struct sources *s, int source, unsigned int cpu);
/* True once a program could not read the source: its counter was taken away. */
bool sources_lost(const struct sources *s, int source);

/* Opens on this CPU what has no event there, or a dead one. The sources that have a new one now. */
uint64_t sources_renew(struct sources *s, unsigned int cpu);
/* Of these, the ones a target ran without on this CPU; that is forgotten with the answer. */
uint64_t sources_missed(struct sources *s, unsigned int cpu, uint64_t renewed);

#endif

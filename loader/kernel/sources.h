/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The free-running sources that slices are cut from: an event on every CPU that has its PMU, also
 * on those that come online later, or a register of every CPU.
 */
#ifndef PMCBPF_SOURCES_H
#define PMCBPF_SOURCES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/count/count_abi.h"
#include "perf.h"

struct debug;
struct sources;

/* The maps and variables by which the programs read events and report failed reads. */
struct sources_place {
	int events;			/* the map */
	unsigned int ncpu;
	volatile struct abi_cpu *cpus;
	__u64 *lost;			/* bit per source, on any CPU */
	struct abi_register *registers;
	__u64 *switches;		/* bit per source that counts switches */
	int counter_show;		/* the program that finds events for others; -1: none */
	const char *no_msr;		/* why sources cannot be registers; NULL if they can */
	const struct debug *debug;
};

struct sources *sources_new(const struct sources_place *place);
void sources_free(struct sources *s);
void sources_debug_to(struct sources *s, const struct debug *debug);

/* Opens a source, which runs from now on.  Returns its number, or -errno. */
int sources_open(struct sources *s, const struct perf_event_spec *spec, struct reason *why);
void sources_close(struct sources *s, int source);
/* Ends a source on one CPU only: it counts no more, and then its counter is free. */
void sources_stop_cpu(struct sources *s, int source, unsigned int cpu);
void sources_close_cpu(struct sources *s, int source, unsigned int cpu);
/* True once a program could not read the source: its counter was taken away. */
bool sources_lost(const struct sources *s, int source);

/* Opens events on this CPU where a source has none, or a dead one.  Returns the sources opened. */
uint64_t sources_renew(struct sources *s, unsigned int cpu);
/* Returns those of these sources that a target ran without on this CPU; clears the marks. */
uint64_t sources_missed(struct sources *s, unsigned int cpu, uint64_t renewed);

#endif

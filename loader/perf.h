/* SPDX-License-Identifier: BSD-2-Clause */
/* The only caller of perf_event_open(2): finds the hardware PMUs and their free counters. */
#ifndef PMCBPF_PERF_H
#define PMCBPF_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "why.h"

/* One hardware PMU that can count for tasks; becomes one class of rows. */
struct perf_pmu {
	char name[32];		/* directory below /sys/bus/event_source/devices */
	char prefix[16];	/* row names: IAP, K8, ARMV8 */
	uint32_t type;		/* perf_event_attr.type */
	uint32_t class;		/* enum pmc_class */
	uint32_t width;		/* bits of a counter, as the PMU's mapped page says, or 64 */
	uint32_t rows;		/* counters found free on every CPU */
};

/* Fills at most max PMUs; returns how many, or -errno.  Opens pinned events until one fails. */
int perf_discover(struct perf_pmu *pmus, unsigned int max, struct why *why);

/* True when the CPU is online now. */
bool perf_cpu_online(unsigned int cpu);

/* Highest possible CPU number + 1. */
unsigned int perf_ncpu(void);

struct perf_event_spec {
	uint32_t type;
	uint64_t config, config1, config2;
	bool user, kernel;	/* neither: both */
	bool inherit;		/* threads born later count too … */
	bool inherit_children;	/* … and so do child processes */
	bool user_read;		/* from user space: config1 asks for it, one event per CPU */
};

/* Same event, same rings? Two such PMCs may share one counter. */
bool perf_spec_same(const struct perf_event_spec *a, const struct perf_event_spec *b);

/*
 * Turns the event of a thread into one that its process can read without a system call, where the
 * PMU and the administrator allow that now (/sys/…/rdpmc on x86, kernel.perf_user_access on arm64).
 */
void perf_ask_user_read(struct perf_event_spec *spec);

/* A pinned, running event of one CPU (all tasks). fd or -errno; -EBUSY: no counter was free. */
int perf_open_cpu(const struct perf_event_spec *spec, unsigned int cpu);

/*
 * Can one CPU count all these at once?  The kernel checks a group when it is made; the group is of
 * the caller's own thread and not pinned, so that asking takes no counter from anybody.
 */
bool perf_fits(const struct perf_event_spec *specs, unsigned int n);

/* A pinned event of one thread; cpu -1: on every CPU. fd or -errno. Starts disabled. */
int perf_open_task(const struct perf_event_spec *spec, int tid, int cpu);

int perf_enable(int fd);
int perf_disable(int fd);

/* The count; -EBUSY when the event lost its counter to another user of the PMU. */
int perf_read(int fd, uint64_t *value);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The only caller of perf_event_open(2): finds the hardware PMUs and their free counters. */
#ifndef PMCBPF_PERF_H
#define PMCBPF_PERF_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/base/base.h"

/* One hardware PMU that can count for tasks; becomes one class of rows. */
struct perf_pmu {
	char name[32];		/* directory below /sys/bus/event_source/devices */
	char prefix[32];	/* row names: IAP, K8, ARMV8; of a kind of CPUs: cpu_atom */
	uint32_t type;		/* perf_event_attr.type */
	uint32_t class;		/* enum pmc_class */
	bool architectural;	/* its events have ARM's numbers */
	uint32_t width;		/* bits of a counter, from the PMU's mapped page, or 64 */
	uint32_t rows;		/* counters found free on every CPU */
	bool everywhere;	/* not limited to one kind of the machine's CPUs */
};

/* Fills at most `max` PMUs; returns their number or -errno.  Opens events until one fails. */
int perf_discover(struct perf_pmu *pmus, unsigned int max, struct reason *why);

/* True when the CPU is online now. */
bool perf_cpu_online(unsigned int cpu);

/* True when the CPU is in the machine: online now, or possibly at any moment. */
bool perf_cpu_present(unsigned int cpu);

/* Highest possible CPU number + 1. */
unsigned int perf_ncpu(void);

struct perf_event_spec;

/* True when the CPU is in the machine, and of the kind that has the event's PMU. */
bool perf_has_cpu(const struct perf_event_spec *spec, unsigned int cpu);

struct perf_event_spec {
	uint32_t type;
	uint64_t config, config1, config2;
	uint32_t breakpoint;	/* enum HW_BREAKPOINT_…, 0: it is none; see breakpoints.h */
	uint32_t pmu;		/* of hardware: the type of its PMU, whatever `type` is */
	bool of_kind;		/* … which one kind of the machine's CPUs has */
	bool user, kernel;	/* neither: both */
	bool inherit;		/* threads created later count, too … */
	bool inherit_children;	/* … and so do child processes */
	bool on_exec;		/* a thread's: counts from its next exec on, or once enabled */
	bool until_exec;	/* … ends at its next exec */
	bool user_read;		/* readable in user space: config1 requests it, one event per CPU */
	bool timed;		/* a thread's event: its running time is read as well */
	/* Not a perf event: the module reads register `config`, masked with config1. */
	bool msr;
	uint64_t period;	/* of samples, in events; 0: no sampling */
	uint64_t hz;		/* … or samples a second, for which the kernel steers the period */
	uint64_t sample_type;	/* PERF_SAMPLE_…, which the program reads … */
	uint64_t branch;	/* … PERF_SAMPLE_BRANCH_… of PERF_SAMPLE_BRANCH_STACK */
	unsigned int precise;	/* perf_event_attr.precise_ip */
	uint64_t tag;		/* for the program that overflows run; inherited */
	const char *filter;	/* of a tracepoint; NULL: none */
	bool raw;		/* its samples have the records of the hits */
};

/* True if a CPU's event could not be opened because the CPU is of another kind. */
static inline bool perf_other_kind(const struct perf_event_spec *spec, int err)
{
	return spec->of_kind && err == -ENOENT;
}

/* True if the PMU's driver knows the event; takes no counter. */
bool perf_knows(const struct perf_pmu *pmu, const struct perf_event_spec *spec);

/* 0 if some CPU of the PMU's takes the event now, as it would for samples; else -errno. */
int perf_takes(const char *pmu, const struct perf_event_spec *spec);

/* The most precise samples of the PMU: perf_event_attr.precise_ip; 0: it has none. */
unsigned int perf_max_precise(const char *pmu);

/* True for the same event on the same rings: two such PMCs may share one counter. */
bool perf_spec_same(const struct perf_event_spec *a, const struct perf_event_spec *b);

/*
 * Makes a thread's event readable by its process without a system call, if the PMU and the
 * administrator allow that now (/sys/…/rdpmc on x86, kernel.perf_user_access on arm64).
 */
void perf_ask_user_read(struct perf_event_spec *spec);

/*
 * Opens a pinned event of one CPU (all tasks), which runs unless it samples.  Returns a descriptor
 * or -errno; -EBUSY: no counter was free.
 */
int perf_open_cpu(const struct perf_event_spec *spec, unsigned int cpu);

/*
 * True if one CPU can count all these events at once.  The kernel checks a group on creation; this
 * one is of the caller's own thread and not pinned, so that no counter is taken.
 */
bool perf_fits(const struct perf_event_spec *specs, unsigned int n);

/* Opens a pinned, disabled event of one thread; cpu -1: on every CPU.  A descriptor or -errno. */
int perf_open_task(const struct perf_event_spec *spec, int tid, int cpu);

/*
 * Opens a pinned, disabled event of one CPU that counts the tasks of a cgroup and of those below
 * it.  `folder`: of the cgroup.  A descriptor or -errno; -ENXIO: the CPU is offline.
 */
int perf_open_cgroup(const struct perf_event_spec *spec, int folder, unsigned int cpu);

/* A disabled event of all tasks on any one CPU.  A descriptor or -errno. */
int perf_open_idle(const struct perf_event_spec *spec);

/*
 * Opens a timed event that counts nothing: its time is the time for which a thread, and threads
 * that inherit it, should have been counted, on any CPU.  Returns a disabled descriptor or -errno.
 */
int perf_open_watch(const struct perf_event_spec *spec, int tid);

/*
 * The number of a PMU's counters that are free on a CPU now; -ENXIO: it is offline or lacks this
 * PMU.  The caller runs on that CPU.  The function opens pinned events of the caller's own thread.
 * They rank after the CPU's own events, and other threads' events are not scheduled meanwhile.  So
 * no event loses its counter, except for perf's unpinned events, which take turns anyway.
 */
int perf_free_here(const struct perf_pmu *pmu, unsigned int cpu);

/* True if the kernel has a PMU that can have rows; copies its name. */
bool perf_has_pmu(char *name, size_t size);

/* True if the PMU of that name is one of the CPUs' cores, which counts for tasks. */
bool perf_is_core(const char *pmu);

/* Resolves the kernel's names of a PMU and of an event that counts on the CPU: 0 or -errno. */
int perf_named_event(const char *pmu, const char *name, unsigned int cpu,
		     struct perf_event_spec *spec);

/*
 * True if the NMI watchdog is on.  One kind holds a counter on every CPU; in the other CPUs watch
 * each other, as on 64-bit ARM since Linux 6.5.  It is not cheap to find out which one runs.
 */
bool perf_watchdog(void);

/* Attaches the BPF program that overflows run; events inherited from then on have it, too. */
int perf_set_program(int fd, int program);
/* The hits that a tracepoint's event counts, in the kernel's words. */
int perf_set_filter(int fd, const char *filter);
/* The event must be disabled.  Inherited copies keep their period. */
int perf_set_period(int fd, uint64_t period);

int perf_enable(int fd);
int perf_disable(int fd);

/*
 * Opens an event of one CPU that counts nothing and records forks, exits, names and executable
 * mappings, each with PERF_SAMPLE_TID, TIME (CLOCK_MONOTONIC) and CPU.  The caller maps one page
 * and a power of two of data pages.  Returns a descriptor or -errno.
 */
#define PERF_LIFE_BYTES (256u * 1024)
int perf_open_life(unsigned int cpu);

/* Explains the error of an open; `err` as the functions above return it. */
const char *perf_error(int err);

/* Reads the count; -EBUSY when the event lost its counter to another user of the PMU. */
int perf_read(int fd, uint64_t *value);

/* Reads a timed event: the count and its ns. */
int perf_read_timed(int fd, uint64_t *value, uint64_t *ns);

#endif

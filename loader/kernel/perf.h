/* SPDX-License-Identifier: BSD-2-Clause */
/* The only caller of perf_event_open(2): finds the hardware PMUs and their free counters. */
#ifndef PMCBPF_PERF_H
#define PMCBPF_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loader/base/base.h"

/* One hardware PMU that can count for tasks; becomes one class of rows. */
struct perf_pmu {
	char name[32];		/* directory below /sys/bus/event_source/devices */
	char prefix[16];	/* row names: IAP, K8, ARMV8 */
	uint32_t type;		/* perf_event_attr.type */
	uint32_t class;		/* enum pmc_class */
	uint32_t width;		/* bits of a counter, as the PMU's mapped page says, or 64 */
	uint32_t rows;		/* counters found free on every CPU */
	bool everywhere;	/* not only on one kind of the machine's CPUs */
};

/* Fills at most max PMUs; returns how many, or -errno.  Opens pinned events until one fails. */
int perf_discover(struct perf_pmu *pmus, unsigned int max, struct reason *why);

/* True when the CPU is online now. */
bool perf_cpu_online(unsigned int cpu);

/* True when the CPU is in the machine: it is online, or may be at any moment. */
bool perf_cpu_present(unsigned int cpu);

/* Highest possible CPU number + 1. */
unsigned int perf_ncpu(void);

struct perf_event_spec {
	uint32_t type;
	uint64_t config, config1, config2;
	bool user, kernel;	/* neither: both */
	bool inherit;		/* threads born later count too … */
	bool inherit_children;	/* … and so do child processes */
	bool on_exec;		/* of a thread: counts from its next exec on, until enabled */
	bool user_read;		/* from user space: config1 asks for it, one event per CPU */
	bool timed;		/* of a thread: its counting time is read as well */
	/* No event of perf's: the module reads register config, of which config1's bits count. */
	bool msr;
	uint64_t period;	/* of samples, in events; 0: none are taken */
	uint64_t tag;		/* for the program that samples run; inherited */
};

/* Same event, same rings? Two such PMCs may share one counter. */
bool perf_spec_same(const struct perf_event_spec *a, const struct perf_event_spec *b);

/*
 * Turns the event of a thread into one that its process can read without a system call, where the
 * PMU and the administrator allow that now (/sys/…/rdpmc on x86, kernel.perf_user_access on arm64).
 */
void perf_ask_user_read(struct perf_event_spec *spec);

/*
 * A pinned event of one CPU (all tasks), which runs unless it samples. fd or -errno; -EBUSY: no
 * counter was free.
 */
int perf_open_cpu(const struct perf_event_spec *spec, unsigned int cpu);

/*
 * Can one CPU count all these at once?  The kernel checks a group when it is made; the group is of
 * the caller's own thread and not pinned, so that asking takes no counter from anybody.
 */
bool perf_fits(const struct perf_event_spec *specs, unsigned int n);

/* A pinned event of one thread; cpu -1: on every CPU. fd or -errno. Starts disabled. */
int perf_open_task(const struct perf_event_spec *spec, int tid, int cpu);

/*
 * What counts nothing but for how long a thread, with what inherits from it, should be counted on
 * the PMU, on any CPU. fd, also timed, or -errno. Starts disabled.
 */
int perf_open_watch(const struct perf_event_spec *spec, int tid);

/*
 * How many counters of a PMU could be had on a CPU now; -ENXIO: it is offline or has none of this
 * PMU.  The caller runs on that CPU.  Asked with pinned events of the caller's own thread, which
 * come after those of the CPU, while those of other threads do not run here: nobody loses a counter
 * to the question, but for perf's events that are not pinned and share by turns anyway.
 */
int perf_free_here(const struct perf_pmu *pmu, unsigned int cpu);

/* Does the kernel have a PMU that rows could come from?  Its name, then. */
bool perf_has_pmu(char *name, size_t size);

/* An event by the kernel's names of it, if that counts on the CPU: 0 or -errno. */
int perf_named_event(const char *pmu, const char *name, unsigned int cpu,
		     struct perf_event_spec *spec);

/*
 * The NMI watchdog is on.  Of its two kinds one has a counter of every CPU; the other has the CPUs
 * watch each other, as on 64-bit ARM since Linux 6.5; which of them it is cannot be found cheaply.
 */
bool perf_watchdog(void);

/* What overflows run: a BPF program, also in copies that are inherited from then on. */
int perf_set_program(int fd, int program);
/* While it is disabled; copies keep theirs. */
int perf_set_period(int fd, uint64_t period);

int perf_enable(int fd);
int perf_disable(int fd);

/*
 * An event of one CPU that counts nothing and records what its processes do: forks, exits, names,
 * executable mappings, each with thread, CLOCK_MONOTONIC and CPU as PERF_SAMPLE_TID | TIME | CPU
 * add them.  To be mapped, one page and a power of two of them for data. fd or -errno.
 */
#define PERF_LIFE_BYTES (256u * 1024)
int perf_open_life(unsigned int cpu);

/* Why an event could not be opened, in words; `err` as the functions above return it. */
const char *perf_error(int err);

/* The count; -EBUSY when the event lost its counter to another user of the PMU. */
int perf_read(int fd, uint64_t *value);

/* The same of a timed event, and its ns. */
int perf_read_timed(int fd, uint64_t *value, uint64_t *ns);

#endif

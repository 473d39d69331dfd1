/* SPDX-License-Identifier: BSD-2-Clause */
/* Class SOFT: the events, their codes, and the source of the count in each scope. */
#ifndef PMCBPF_SOFT_H
#define PMCBPF_SOFT_H

#include <stdbool.h>
#include <stdint.h>

#define SOFT_ROWS	16u
#define SOFT_CODE_FIRST 0x20000u

/* Source of a count. */
enum soft_source {
	SOFT_TASK,	/* the kernel's figures per task: nothing runs at a switch */
	SOFT_PERF,	/* a software perf event per CPU */
	SOFT_OFFCPU,	/* samples: threads' time off the CPUs */
	SOFT_MIGRATION,	/* a program adds each migration to its process's count */
	SOFT_HOOK,	/* a per-CPU counter that a BPF program on a tracepoint increments */
};

/* Meanings of `usr` and `os`. */
enum soft_sides {
	SIDES_UNKNOWN,	/* the side is not recorded */
	SIDES_COUNTED,	/* perf knows for each event whether user code or the kernel ran */
	SIDES_SAMPLED,	/* perf knows it for samples; counting has no sides */
	SIDE_KERNEL,	/* the event happens in the kernel */
};

struct soft_event {
	const char *name;	/* CLOCK.HARD */
	uint32_t code;		/* SOFT_CODE_FIRST + index, the same on every kernel */
	uint32_t rate;		/* ticks a second of a clock; 0: the figure itself */
	enum soft_sides sides;
	enum soft_source process, system;
	uint32_t quantity;	/* SOFT_TASK: enum wire_quantity */
	uint32_t perf_config;	/* SOFT_PERF: PERF_COUNT_SW_… */
	uint32_t hook;		/* SOFT_HOOK, SOFT_MIGRATION in cgroups: enum abi_hook */
	bool address;		/* its samples have the address of data */
};

extern const struct soft_event soft_events[];
extern const unsigned int soft_nevents;

/* NULL if there is no such event. */
const struct soft_event *soft_by_code(uint32_t code);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classes of PMCs: SOFT, TSC, TRACEPOINT, PROBE, the hardware classes (one table serves them all),
 * BREAKPOINT, MSR, PERF.
 * All differences between classes are entries of their tables; nothing else in the daemon asks
 * which class a PMC belongs to.
 *
 * A new class has a file class_NAME.c with its table, a line in class.c, a manual page and tests.
 * Its PMCs' hold on the kernel is a holder of loader/count, mostly holder_own.
 *
 * Example, `pmc_allocate()` of the event CLOCK.PROF: op/alloc.c checks mode, CPU, flags and
 * capabilities and finds the class by its number; class_soft.c's plan() finds the event, checks
 * `usr` and `os`, and fills in the count_spec; op/alloc.c then chooses a row by the rules of the
 * table, and count_new() takes it with the class's holder.
 */
#ifndef PMCBPF_CLASS_H
#define PMCBPF_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/wire.h"
#include "loader/base/base.h"
#include "loader/count/count.h"

struct cpu;
struct cred;
struct debug;
struct messages;
struct msrs;
struct row_class;
struct row_table;
struct ruling;

/* Flags of PMCs whose time slices are recorded. */
#define ALLOCATION_LOGS (PMC_F_LOG_PROCCSW | PMC_F_LOG_PROCEXIT | PMC_F_LOG_THREXIT)

/* The parts of the machine and the daemon that classes use. */
struct class_machine {
	struct engine *engine;
	const struct cpu *cpu;
	struct msrs *msr;
	const struct debug *debug;
	struct messages *messages;
};

/* One allocation: the request, and the plan that the checks make of it. */
struct allocation {
	const struct class_machine *machine;
	const struct wire_allocate_req *a;
	const struct cred *cred;	/* the client's, now */
	bool jailed;			/* it is in a container */
	const struct ruling *by;	/* the tunables, and the administrator's rules for it */
	const struct row_class *class;
	bool system;
	unsigned int cpu;
	unsigned int first, rows;	/* rows that it may have */
	struct count_spec spec;
	int file;			/* that came along; -1: none */
	bool filter_refused;		/* by the kernel, which can explain it */
	struct probe_spec probe;	/* PROBE: spec.probe's memory */
	char name[WIRE_NAME_MAX];	/* the event's name … */
	bool named_by_client;		/* … which proves nothing */
	bool numberless;		/* an event of counters that only the kernel can encode */
	char number[2 * WIRE_NAME_MAX]; /* of the event, in hexadecimal; "": it has none */
	uint64_t ticks;			/* of an event that is a clock, in a second; else 0 */
	uint32_t values;		/* enum pmclog_value: those that not every event has */
	/*
	 * Formats "held by …" for the PMC of the class on that CPU that writes control register
	 * `select` (WIRE_MSR_SELECT | number).  False: there is none.
	 */
	bool (*selects)(const struct allocation *p, uint64_t select, char *holder, size_t size);
	void *arg;			/* … the caller's argument of it */
};

/* An event of a class that lists its events. */
struct class_event {
	uint32_t code, flags;
	const char *prefix, *name;
};

struct class_ops {
	uint32_t events;		/* enum pmc_class, if event_at() lists its events and no
					   row has to be there for it */
	const char *separator;		/* IAP-3, but SOFT3 */
	bool shared;		/* its rows have room for any number of PMCs */
	bool filters;		/* its events take a filter */
	bool threads;		/* single threads can be counted */
	bool cgroups;		/* cgroups can be counted */
	bool files;		/* its events are in a file, which comes along */
	bool overflows;		/* its samples are overflows of perf events, which have values, and
				   periods that the kernel can steer */
	uint32_t values;	/* enum pmclog_value that samples may have which are none */
	bool rediscovered;	/* SIGHUP discovers its rows anew */
	bool counters;		/* a row is a counter of the CPUs: others may take it, and programs
				   may read its register */
	bool sources;		/* each row may take a per-CPU event, as counters do */
	bool one_row;		/* each event has a row of its own: no other one is tried */
	const char *refusal;	/* begins the message if no row is left; NULL: usual words */
	const char *unsampled;	/* why it has no samples; NULL: the usual words */
	const char *unsignalled; /* why its overflows have no signals; NULL: they may have */
	const struct count_holder *holder;

	/* Adds the class and its rows to the table, if the machine has any. */
	int (*add_rows)(struct row_table *t, const struct class_machine *m, struct reason *why);
	/* Resolves and checks the event; fills in `spec`, `name` and the possible rows. */
	int (*plan)(struct allocation *p, struct reason *why);
	/* Before the first event of a list is asked for; NULL: nothing to do. */
	void (*list)(const struct class_machine *m);
	/*
	 * The i-th event, from 0 on; false: there are no more.  The name "" is skipped.  `class` is
	 * NULL if the machine has no such rows.
	 */
	bool (*event_at)(const struct class_machine *m, const struct row_class *class,
			 unsigned int i, struct class_event *ev);
};

extern const struct class_ops class_soft, class_tsc, class_tracepoint, class_probe, class_hardware,
	class_breakpoint, class_msr, class_perf;

/* All classes, in the order of their rows; NULL at the end. */
extern const struct class_ops *const classes[];

/* The class that lists the events of this class number, or NULL. */
const struct class_ops *class_with_events(uint32_t class);

/* Takes the event's name as the client has it: 0, or -EINVAL if it is not printable. */
int class_name_take(struct allocation *p, struct reason *why);
/* Of what programs count or sample: -EOPNOTSUPP: they do not know a single thread's number. */
int class_check_thread(const struct allocation *p, struct reason *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sources of PMCs' counts.  A backend is a table of functions in a file of its own; the rest of the
 * room calls through the table and never asks which backend a PMC has.
 *
 * A PMC's value is base + count_state_scale(raw).  `base` moves with writes, read() reports `raw`.
 * The caller of these functions owns the state machine: start() is called only while the PMC is
 * stopped, stop() only while it runs, attach() only for process scope.  A member may be NULL if
 * there is nothing to do.
 *
 * A PMC gets its backend at its allocation.  Only slices may be replaced later, by per-task events
 * (count_row_to_tasks()) or by groups of these (count_row_to_group()).
 *
 * Example, a process-scope PMC in slices: start() sets its bit in every set that it is a member of
 * and flushes each CPU, so that slices begin at once; at each context switch the programs credit
 * its owner's counts; read() flushes the CPUs that have a slice open and adds up the counts.
 */
#ifndef PMCBPF_BACKEND_H
#define PMCBPF_BACKEND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/wire.h"
#include "loader/base/base.h"

struct count;
struct cpu_state;
struct gauge;

struct backend {
	const char *name;
	bool sliced;		/* counted in slices: its sets list it as a member */
	bool figures;		/* fed by the kernel's figures: its sets list it by its row */
	bool migrations;	/* counts migrations: likewise */
	bool offcpu;		/* samples waits: likewise */
	bool read_only;		/* a write changes nothing */
	bool period_at_start;	/* a new period takes effect at the next start, without more */

	/* Attach the programs that it needs: before its first start, and its first target. */
	int (*hold)(struct count *c, struct reason *why);
	int (*hold_attach)(struct count *c, struct reason *why);

	int (*start)(struct count *c, struct reason *why);
	int (*stop)(struct count *c, struct reason *why);
	int (*read)(struct count *c, uint64_t *raw, struct reason *why);

	/* A process has become a target, or is no longer one. */
	int (*attach)(struct count *c, pid_t tgid, struct reason *why);
	void (*detach)(struct count *c, pid_t tgid);
	/* The PMC runs and a target is about to leave: adds that target's count. */
	int (*collect)(struct count *c, pid_t tgid);
	/* Around a detach while the PMC runs; leave_end() gets leave_begin()'s result. */
	uint64_t (*leave_begin)(struct count *c);
	void (*leave_end)(struct count *c, uint64_t begun, bool left);
	/* A target has exec'd a set-id program; `dropped`: the kernel removed its events. */
	void (*follow)(struct count *c, pid_t tgid, bool dropped);

	/* System scope: true if groups may read it, and where. */
	bool (*gauge)(const struct count *c, struct gauge *g);
	/* System scope: the PMC's CPU has gone or is back. */
	void (*cpu_moved)(struct count *c, const struct cpu_state *now);
	/*
	 * Process scope: true if it missed events on a CPU that is back.  Bit s of `missed`: a
	 * target ran there without per-CPU event s.
	 */
	bool (*cpu_missed)(const struct count *c, unsigned int cpu, const struct cpu_state *now,
			   uint64_t missed);
	/* True if a slice was not seen: the count is lost until it is written. */
	bool (*missed)(const struct count *c);
	/* Its count is written: slices that were not seen are of no concern any more. */
	void (*forget)(struct count *c);
	/* Adds up a register before it wraps.  True: every CPU has to be flushed for that. */
	bool (*fold)(struct count *c);

	/* The error of a read when the counter is lost; NULL: see count_state_lost(). */
	int (*deny_lost)(const struct count *c, int err, struct reason *why);

	/* The owner's way to read it without the daemon: while stopped, and while running. */
	enum wire_how how_stopped;
	enum wire_how (*how)(const struct count *c);
	/* Adds its part to the page; `p->how` is set already. */
	void (*fill)(struct count *c, struct wire_page_pmc *p);
	/* Lists descriptors through which the owner reads the running PMC; returns their number. */
	unsigned int (*fds)(const struct count *c, int *fds, unsigned int max);
};

extern const struct backend backend_tsc;	/* the register; nothing is held */
extern const struct backend backend_cpu_event;	/* system scope: a perf event on its CPU */
extern const struct backend backend_cpu_tracepoint;	/* system scope: a tracepoint's hits */
extern const struct backend backend_cpu_hook;	/* system scope: a hook's counter on its CPU */
extern const struct backend backend_register;	/* system scope: a register of its CPU */
extern const struct backend backend_slices;	/* process scope: slices of a per-CPU source */
extern const struct backend backend_figures;	/* process scope: the kernel's figures per task */
extern const struct backend backend_migrations;	/* process scope: migrations, by a program */
extern const struct backend backend_task_events; /* process scope: per-task events */
extern const struct backend backend_task_group;	/* process scope: groups of these */
extern const struct backend backend_cgroup_events; /* a cgroup: per-CPU events of it */
extern const struct backend backend_cgroup_slices; /* a cgroup: slices of a per-CPU source */
extern const struct backend backend_cgroup_hits; /* a cgroup: samples of hits */
extern const struct backend backend_offcpu;	/* sampled: waits, by the switches' programs */

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a PMC's count comes from.  A backend is a table of functions in a file of its own; the rest
 * of the room calls through the table and never asks which backend it has.
 *
 * A PMC's value is base + count_state_scale(raw).  `base` moves with writes, read() reports `raw`.
 * The caller of these functions owns the state machine: start() comes only while the PMC does not
 * run, stop() only while it does, attach() only for process scope.  A member that is NULL has
 * nothing to do.
 *
 * A PMC is given its backend when it is made.  One change is possible later: slices give way to
 * per-task events, with count_row_to_tasks().
 *
 * Example, a process-scope PMC in slices: start() sets its bit in every set it is a member of and
 * flushes each CPU, so that slices begin at once; at each context switch the programs credit its
 * owner's counts; read() flushes the CPUs that have a slice open and adds up the counts.
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

struct backend {
	const char *name;
	bool sliced;		/* its sets list it among the members whose slices are credited */
	bool figures;		/* its sets list it among those that the kernel's figures feed */
	bool read_only;		/* a write changes nothing */

	/* Attaches the programs it lives on: before its first start, and to its first target. */
	int (*hold)(struct count *c, struct reason *why);
	int (*hold_attach)(struct count *c, struct reason *why);

	int (*start)(struct count *c, struct reason *why);
	int (*stop)(struct count *c, struct reason *why);
	int (*read)(struct count *c, uint64_t *raw, struct reason *why);

	/* A process has become a target, or is none any more. */
	int (*attach)(struct count *c, pid_t tgid, struct reason *why);
	void (*detach)(struct count *c, pid_t tgid);
	/* The PMC runs and a target is about to leave: what it has counted is added up. */
	int (*collect)(struct count *c, pid_t tgid);
	/* Around a detach while it runs; leave_end() gets what leave_begin() returned. */
	uint64_t (*leave_begin)(struct count *c);
	void (*leave_end)(struct count *c, uint64_t begun, bool left);
	/* A target has taken on a set-id program; the kernel may have dropped its events. */
	void (*follow)(struct count *c, pid_t tgid, bool dropped);

	/* System scope: its CPU has gone or is back. */
	void (*cpu_moved)(struct count *c, const struct cpu_state *now);
	/*
	 * Process scope: did it miss something on a CPU that is back?  Bit s of `missed`: a target
	 * ran there without per-CPU event s.
	 */
	bool (*cpu_missed)(const struct count *c, unsigned int cpu, const struct cpu_state *now,
			   uint64_t missed);
	/* A slice was not seen: the count is lost until it is forgotten. */
	bool (*missed)(const struct count *c);
	/* Adds up a register before it wraps.  True: that takes a flush of every CPU. */
	bool (*fold)(struct count *c);

	/* The error of a read once its counter is lost; NULL: count_lost() has the usual ones. */
	int (*deny_lost)(const struct count *c, int err, struct reason *why);

	/* How the owner reads it without asking: while it does not run, and while it does. */
	enum wire_how how_stopped;
	enum wire_how (*how)(const struct count *c);
	/* Adds its part to the page; `p->how` is set. */
	void (*fill)(struct count *c, struct wire_page_pmc *p);
	/* Descriptors that the owner reads it by while it runs; how many. */
	unsigned int (*fds)(const struct count *c, int *fds, unsigned int max);
};

extern const struct backend backend_tsc;	/* the register; nothing is held */
extern const struct backend backend_cpu_event;	/* system scope: a perf event on its CPU */
extern const struct backend backend_cpu_hook;	/* system scope: a hook's counter on its CPU */
extern const struct backend backend_register;	/* system scope: a register of its CPU */
extern const struct backend backend_slices;	/* process scope: slices of a per-CPU source */
extern const struct backend backend_figures;	/* process scope: what the kernel keeps per task */
extern const struct backend backend_task_events; /* process scope: per-task events */

#endif

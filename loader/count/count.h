/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting: what a PMC does once its row, owner and permissions are settled.
 *
 * A `struct count` is the counting half of a PMC.  Its holder (holder.h) says what it holds in the
 * kernel and with which PMCs it shares that; its backend (backend.h) says where its count comes
 * from.  PMCs of process scope are members of sets (set.h), and each target process has one set;
 * target.c moves processes between sets.  hotplug.c follows the CPUs, page.c keeps what owners read
 * without asking.
 *
 * Operations own the state machine and check it first: only legal calls come here.  All calls come
 * from the event loop's thread; long ones let other operations go on in engine_breathe(), so that
 * targets may change meanwhile.
 *
 * Order in a start: programs are attached, then the sets have the PMC's bit, then each CPU is
 * flushed, so that at return no target counts before the start.  A stop clears the bit first.
 */
#ifndef PMCBPF_COUNT_H
#define PMCBPF_COUNT_H

#include <sys/types.h>

#include "loader/kernel/kernel.h"

struct count;
struct count_holder;
struct count_owner;
struct user;

/*
 * What PMCs of a class hold, see holder.h.  Nothing: any number may be there.  Own: each has an
 * event of its own, or what the kernel or a program counts anyway.  Counter: a counter of the CPUs,
 * which all PMCs of the row share.  Register: a register that anybody may read.
 */
extern const struct count_holder holder_nothing, holder_own, holder_counter, holder_register;

/* Where a PMC with holder_own has its count from. */
enum count_from {
	COUNT_FROM_EVENT,		/* `event` */
	COUNT_FROM_FIGURES,		/* process scope: what the kernel keeps per task */
	COUNT_FROM_HOOK,		/* a counter that a program on a tracepoint keeps */
};

struct count_spec {
	const struct count_holder *holder;
	bool system;			/* system scope, on `cpu` */
	bool descendants;
	bool follows_setid;		/* stays on a target that takes on a set-id program */
	bool passes_fd;			/* system scope: to the owner, the counter's */
	unsigned int cpu;
	unsigned int row;		/* 0 … npmc-1 */
	char row_name[24];		/* for messages */
	uint32_t pmcid;			/* for the page */
	struct perf_event_spec event;	/* what perf or the module counts */
	enum count_from from;		/* holder_own … */
	uint32_t quantity;		/* … FIGURES: enum wire_quantity */
	uint32_t hook;			/* … HOOK: enum abi_hook */
	uint32_t rate;			/* ns become so many ticks a second; 0: no clock */
	unsigned int shift;		/* the register's unit is 2^shift of the owner's */
	bool sampling;
	int program;			/* sampling: what an overflow runs, the caller's … */
	uint64_t tag;			/* … and the number by which it knows the PMC */
	uint64_t period;		/* sampling: in events; count_set_period() */
	uint32_t log;			/* number in records, and ABI_LOG_…; 0: not logged */
	const char *timer;		/* sampling: the software clock that it is, NULL: none */
	bool select;			/* while it runs, this register has these bits */
	uint32_t select_reg;
	uint64_t select_value;
};

/* What counting keeps of targets and CPUs, from the engine's start to its end. */
int count_init(struct engine *e);
void count_fini(struct engine *e);

/*
 * What one owner's PMCs share: the pages its process maps, and the user that all of it is charged
 * to, which outlives it.  tgid in the daemon's pid namespace.
 */
int count_owner_new(struct engine *e, pid_t tgid, struct user *user, struct count_owner **out,
		    struct reason *why);
void count_owner_free(struct count_owner *o);
/* fds[0] the page, fds[1] the per-CPU counts: borrowed, read-only, to be passed to the client. */
/* Its number among the programs' owners. */
unsigned int count_owner_slot(const struct count_owner *o);
void count_owner_fds(const struct count_owner *o, int fds[2]);

/*
 * How well a row fits: 0 when its counters are unused or already count this very event, 1 when
 * per-task events would be needed because the row counts something else for other targets.
 */
int count_rank(const struct engine *e, const struct count_spec *spec);

/*
 * Reserves the counters. -EINVAL: the PMU has none left for this event; -ENXIO: the CPU is offline;
 * -EAGAIN: the user has used up a quota.
 */
int count_new(struct engine *e, struct count_owner *o, const struct count_spec *spec,
	      struct count **out, struct reason *why);
/*
 * Stops, and detaches what can be detached in slices: the first part of count_free() where there
 * are many targets.
 */
void count_let_go(struct count *c);
/* Stops, detaches and frees; the row's counters are given back when nobody else uses them. */
void count_free(struct count *c);

/* Index on the owner's page, ~0u when the page does not serve it. */
unsigned int count_pos(const struct count *c);

/* Checks each descendant once it has joined; one that is not admitted leaves again. */
struct count_guard {
	bool (*admits)(const struct count_guard *g, pid_t tgid);
};

/*
 * -EEXIST, -EBUSY (row taken on that target), -ESRCH (gone). All or nothing over descendants that
 * are admitted; guard NULL: all are.  `waits`: each of these processes counts from its next exec
 * on, whether the PMC runs then or is started later; so do children that are born before it.
 */
int count_attach(struct count *c, int pidfd, pid_t tgid, bool waits,
		 const struct count_guard *guard, struct reason *why);
/* -ESRCH: not monitored at all; -EINVAL: not by this one. */
int count_detach(struct count *c, pid_t tgid, struct reason *why);
unsigned int count_ntargets(const struct count *c);
/* -errno: they could not be listed, and fn was not called. */
int count_each_target(const struct count *c, void (*fn)(void *arg, pid_t tgid), void *arg);
/* Is the process a target of this PMC? */
bool count_measures(const struct count *c, pid_t tgid);
/* Does it stay on a target that takes on a set-id program? */
bool count_follows_setid(const struct count *c);
/* Was there a child of its targets without room among them? */
bool count_lost_children(const struct count *c);
/* Bit r: some PMC on row r, anybody's, has the process as a target. */
uint64_t count_target_rows(const struct engine *e, pid_t tgid);

/*
 * Does the daemon hold a counter of that CPU for the (hardware) row at this moment?  Per-task
 * events hold one only while their task runs.
 */
bool count_holds(const struct engine *e, unsigned int row, unsigned int cpu);

/*
 * A note that NEED_EXEC or NEED_LIFE brought: calls fn for each PMC that has lost its last target.
 * False if the caller has to check every PMC with count_orphaned().
 */
typedef void count_orphan_fn(void *arg, const struct count_owner *owner, pid_t owner_tgid);
bool count_note(struct engine *e, const struct abi_note *note, count_orphan_fn *fn, void *arg);
/* All there were have been looked at. */
void count_notes_seen(struct engine *e);
/* True once, after the PMC has lost its last target in any other way than by a detach. */
bool count_orphaned(struct count *c);

/* Exact at return: no target counts before START or after STOP. -ENXIO: CPU offline. */
int count_start(struct count *c, struct reason *why);
int count_stop(struct count *c, struct reason *why);
int count_read(struct count *c, uint64_t *value, struct reason *why);
/*
 * The kernel has hidden a switch for the first time: from here on, owners read counts in slices
 * from the daemon only.
 */
void count_hidden(struct count *c);
/* How many switches it has hidden, as far as was seen; watches for a moment if there were none. */
int count_hidden_switches(struct engine *e, uint64_t *hidden, struct reason *why);
/* A counter was taken away from it, as far as is known: at the latest when it has stopped. */
bool count_is_lost(const struct count *c);
int count_write(struct count *c, uint64_t value, struct reason *why);
/* Of a sampling PMC that does not run. */
int count_set_period(struct count *c, uint64_t period, struct reason *why);

/*
 * Follows the CPUs that went and came since the last time.  Before every request, so that what it
 * finds is so, and when cpu_bell_fd() is readable, so that counting goes on at once.
 */
void count_cpus(struct engine *e);
/* Samples registers before they wrap.  Returns the ms to the next call, -1 if none is needed. */
int count_poll(struct engine *e);

/*
 * After START: descriptors by which the owner reads its own threads' events, or the counter of a
 * CPU. Borrowed; returns their number (0: not read that way) and the page generation they belong
 * to.
 */
unsigned int count_read_fds(const struct count *c, int *fds, unsigned int max,
			    uint32_t *generation);

#endif

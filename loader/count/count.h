/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting: the work of a PMC once its row, owner and permissions are settled.
 *
 * A `struct count` is the counting half of a PMC.  Its holder (holder.h) determines what it holds
 * in the kernel and with which PMCs it shares that; its backend (backend.h) determines where its
 * count comes from.  PMCs of process scope are members of sets (set.h), and each target process has
 * one set; target.c moves processes between sets.  hotplug.c follows the CPUs, page.c maintains the
 * page from which owners read without the daemon.
 *
 * Operations own the state machine and check it first, so that every call to this room is legal.
 * All calls come from the event loop's thread; long ones let other operations run in
 * engine_breathe(), so that targets may change meanwhile.
 *
 * Order in a start: programs are attached, then the PMC's bit is set in its sets, then each CPU is
 * flushed, so that no target counts before the start or misses anything after the return.  A stop
 * clears the bit first.
 */
#ifndef PMCBPF_COUNT_H
#define PMCBPF_COUNT_H

#include <sys/types.h>

#include "lib/base/wire.h"
#include "loader/kernel/kernel.h"

struct count;
struct count_holder;
struct count_owner;
struct user;

/* Processes are measured on the rows 0 … TARGET_ROWS-1; bit r of a row_mask is row r. */
#define TARGET_ROWS 128
typedef unsigned __int128 row_mask;

/*
 * Holders that classes name, see holder.h.  holder_nothing: holds nothing, so the number of PMCs is
 * not limited.  holder_own: an event of its own for each PMC, or a count that the kernel or a
 * program keeps anyway.  holder_counter: a counter of the CPUs, shared by all PMCs of the row.
 * holder_register: a register, for any number of PMCs.  holder_breakpoint: a breakpoint register of
 * the CPUs, for all PMCs of one address.
 */
extern const struct count_holder holder_nothing, holder_own, holder_counter, holder_register,
	holder_breakpoint;

/* Where a PMC with holder_own takes its count from. */
enum count_from {
	COUNT_FROM_EVENT,		/* `event` */
	COUNT_FROM_FIGURES,		/* process scope: the kernel's figures per task */
	COUNT_FROM_HOOK,		/* a counter that a program on a tracepoint keeps */
	COUNT_FROM_TRACEPOINT,		/* the hits of `tracepoint`, or `event` with a filter */
	COUNT_FROM_PROBE,		/* the hits of `probe` */
	COUNT_FROM_MIGRATION,		/* process scope: a program adds each migration */
	COUNT_FROM_OFFCPU,		/* sampled: the waits of threads */
};

/* Of perf_event_spec, for the events of a sampling PMC. */
struct count_samples {
	uint64_t hz, sample_type, branch;
	unsigned int precise;
	bool until_exec;		/* none of what the process executes */
};

struct count_spec {
	const struct count_holder *holder;
	bool system;			/* system scope, on `cpu` */
	bool descendants;
	bool thread;			/* one thread, see count_choose_thread() … */
	bool alone;			/* … which is counted in slices, or by its migrations */
	bool grouped;			/* it is for a group, see count_form_group() */
	bool cgroup;			/* a cgroup, see count_attach_cgroup() */
	bool follows_setid;		/* stays on a target that executes a set-id program */
	bool passes_fd;			/* system scope: the owner gets the descriptor */
	unsigned int cpu;
	unsigned int row;		/* 0 … npmc-1 */
	char row_name[24];		/* for messages */
	uint32_t pmcid;			/* for the page */
	struct perf_event_spec event;	/* the event as perf or the module counts it */
	enum count_from from;		/* holder_own … */
	uint32_t quantity;		/* … FIGURES: enum wire_quantity */
	uint32_t hook;			/* … HOOK: enum abi_hook */
	const char *tracepoint;		/* … TRACEPOINT: SYSTEM:NAME, for count_new() only */
	const struct probe_spec *probe;	/* … PROBE: likewise */
	bool in_kernel;			/* … its place is in the kernel */
	uint32_t rate;			/* ns are scaled to so many ticks a second; 0: no clock */
	unsigned int shift;		/* the register's unit is 2^shift of the owner's */
	bool sampling;
	int program;			/* sampling: the caller's program that overflows run … */
	uint64_t tag;			/* … and the number that identifies the PMC in it */
	uint64_t period;		/* sampling: in events; count_set_period() */
	struct count_samples samples;	/* … or as the kernel steers it, and what samples have */
	uint32_t offcpu_rate;		/* … OFFCPU: samples on a CPU in a second */
	bool offcpu_wakers;		/* … and the waker of each wait */
	uint32_t log;			/* number in records, and ABI_LOG_…; 0: not logged */
	bool in_tasks;			/* holder_breakpoint: it may slow down its targets only */
	const char *timer;		/* sampling: the name of the software clock, NULL: none */
	bool select;			/* while the PMC runs, this register has these bits */
	uint32_t select_reg;
	uint64_t select_value;
};

/* Creates and frees this room's state of targets and CPUs, which exists as long as the engine. */
int count_init(struct engine *e);
void count_fini(struct engine *e);

/*
 * The part that one owner's PMCs share: the pages that its process maps, and the user that is
 * charged, which outlives it.  tgid is a number in the daemon's PID namespace.
 */
int count_owner_new(struct engine *e, pid_t tgid, struct user *user, struct count_owner **out,
		    struct reason *why);
void count_owner_free(struct count_owner *o);
/* fds[0]: the page, fds[1]: the per-CPU counts; read-only, borrowed, to be passed to the client. */
/* The owner's number in the programs' maps. */
unsigned int count_owner_slot(const struct count_owner *o);
void count_owner_fds(const struct count_owner *o, int fds[2]);

/*
 * The fit of a row: 0 if its counters are unused or already count this very event, 1 if the row
 * counts something else for other targets, so that per-task events would be needed; -1: it counts
 * something else, and that cannot be.
 */
int count_rank(const struct engine *e, const struct count_spec *spec);

/*
 * Loads the program that a user's sampling PMC needs besides those of the engine; true: the fiber
 * has waited for that.  To be called right before count_new(), which reports errors.
 */
bool count_prepare(struct engine *e, const struct count_spec *spec, struct user *user);
/*
 * Reserves the counters.  -EINVAL: the PMU has none left for this event; -ENXIO: the CPU is
 * offline; -EAGAIN: the user has reached a quota.
 */
int count_new(struct engine *e, struct count_owner *o, const struct count_spec *spec,
	      struct count **out, struct reason *why);
/*
 * Stops the PMC and detaches targets in slices, as far as that is possible: the first part of
 * count_free() if there are many targets.
 */
void count_let_go(struct count *c);
/* Stops, detaches and frees; the last PMC on the row gives its counters back. */
void count_free(struct count *c);

/* Index on the owner's page, ~0u if the PMC has no place there. */
unsigned int count_pos(const struct count *c);

/* Checks each descendant after it has joined; one that is not admitted leaves again. */
struct count_guard {
	bool (*admits)(const struct count_guard *g, pid_t tgid);
};

/*
 * PMCs of single threads: the thread, in the daemon's PID namespace, whose process the next call
 * of count_attach() attaches.  -EBUSY: the PMC has a thread.
 */
int count_choose_thread(struct count *c, pid_t tid, struct reason *why);
/*
 * PMCs of a cgroup: a descriptor of its folder, which is copied; once.  -EBUSY: the PMC has a
 * cgroup; -ENOENT: it has been removed.
 */
int count_attach_cgroup(struct count *c, int folder, struct reason *why);
bool count_has_cgroup(const struct count *c);
/*
 * True if programs count such a PMC of a cgroup, in slices: PMCs on a hardware row then share its
 * counter.  Else perf does.
 */
bool count_slices_cgroup(const struct engine *e, const struct count_spec *spec);
/*
 * -EEXIST, -EBUSY (row taken on that target), -ESRCH (gone).  All or nothing for the descendants
 * that are admitted; guard NULL: all are.  `waits`: each of these processes counts from its next
 * exec on, whether the PMC is started before or after; so do children born before that exec.
 */
int count_attach(struct count *c, int pidfd, pid_t tgid, bool waits,
		 const struct count_guard *guard, struct reason *why);
/* -ESRCH: not monitored at all; -EINVAL: not by this PMC. */
int count_detach(struct count *c, pid_t tgid, struct reason *why);
unsigned int count_ntargets(const struct count *c);
/* Returns -errno, without a call of fn, if the targets could not be listed. */
int count_each_target(const struct count *c, void (*fn)(void *arg, pid_t tgid), void *arg);
/* True if the process is a target of this PMC. */
bool count_measures(const struct count *c, pid_t tgid);
/* True if it stays on a target that executes a set-id program. */
bool count_follows_setid(const struct count *c);
/* True if a child of its targets found no room among the targets. */
bool count_lost_children(const struct count *c);
/* Bit r: some PMC on row r, of any owner, has the process as a target. */
row_mask count_target_rows(const struct engine *e, pid_t tgid);

/*
 * True if the daemon holds a counter of that CPU for the (hardware) row at this moment.  Per-task
 * events hold one only while their task runs.
 */
bool count_holds(const struct engine *e, unsigned int row, unsigned int cpu);

/*
 * Groups: PMCs of one owner with spec.grouped, always listed in the order in which they were made a
 * group, before any has a target: all of processes, in slices, or all of one CPU.  Members that
 * count the same read one source.  Start, stop and read concern all at one instant; `failed` is the
 * index of the one that an error concerns.  They are freed in reverse order.
 */
void count_form_group(struct count *const *list, unsigned int n, bool descendants);
int count_start_all(struct count *const *list, unsigned int n, unsigned int *failed,
		    struct reason *why);
void count_stop_all(struct count *const *list, unsigned int n);
int count_read_all(struct count *const *list, unsigned int n, uint64_t *values,
		   unsigned int *failed, struct reason *why);
/*
 * After their start: the descriptors from which the owner reads all members without the daemon, in
 * groups of `places`, and the place of each member; as count_read_fds().
 */
struct count_places {
	unsigned int places;
	uint8_t place[WIRE_GROUP_MAX];
};
unsigned int count_read_fds_all(struct count *const *list, unsigned int n, int *fds,
				unsigned int max, uint32_t *generation,
				struct count_places *places);
/* True if all of them measure the same processes. */
bool count_shares_targets(struct count *const *list, unsigned int n);

/*
 * Handles a note caused by NEED_EXEC or NEED_LIFE: calls fn for each PMC that lost its last target.
 * False if the caller has to check every PMC with count_orphaned().
 */
typedef void count_orphan_fn(void *arg, const struct count_owner *owner, pid_t owner_tgid);
bool count_note(struct engine *e, const struct abi_note *note, count_orphan_fn *fn, void *arg);
/* All notes so far have been handled. */
void count_notes_seen(struct engine *e);
/* True once, after the PMC has lost its last target other than by a detach. */
bool count_orphaned(struct count *c);

/* Exact at return: no target counts before START or after STOP. -ENXIO: CPU offline. */
int count_start(struct count *c, struct reason *why);
int count_stop(struct count *c, struct reason *why);
int count_read(struct count *c, uint64_t *value, struct reason *why);
/*
 * The kernel has hidden a switch for the first time: from now on, owners read counts in slices
 * through the daemon only.
 */
void count_hidden(struct count *c);
/* Reports how many switches the kernel has hidden, as far as seen; if none, watches briefly. */
int count_hidden_switches(struct engine *e, uint64_t *hidden, struct reason *why);
/* What became of the waits of a PMC that samples them; false: it does not. */
bool count_offcpu_counts(const struct count *c, struct abi_offcpu_counts *n);
/* True if its counter is known to have been taken away; complete once the PMC has stopped. */
bool count_is_lost(const struct count *c);
int count_write(struct count *c, uint64_t value, struct reason *why);
/* Sets the period of a sampling PMC that does not run. */
int count_set_period(struct count *c, uint64_t period, struct reason *why);

/*
 * Handles CPUs that went or came since the last call.  Called before every request, so that it
 * finds the current state, and when cpu_bell_fd() is readable, so that counting resumes.
 */
void count_cpus(struct engine *e);
/* Samples registers before they wrap.  Returns the ms to the next call, -1 if none is needed. */
int count_poll(struct engine *e);

/*
 * After START: the descriptors from which the owner reads its own threads' events, or a CPU's
 * counter.  Borrowed; returns their number (0: not read that way) and the page generation that they
 * belong to.
 */
unsigned int count_read_fds(const struct count *c, int *fds, unsigned int max,
			    uint32_t *generation);

#endif

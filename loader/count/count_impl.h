/* SPDX-License-Identifier: BSD-2-Clause */
/* What count.c, target.c, events.c and page.c share about a PMC's counting. */
#ifndef PMCBPF_COUNT_IMPL_H
#define PMCBPF_COUNT_IMPL_H

#include <sys/queue.h>

#include "count.h"
#include "loader/base/debug.h"
#include "hotplug.h"
#include "target.h"
#include "loader/policy/user.h"

/* Where a PMC's count comes from. */
enum backend {
	BACKEND_TSC,		/* the register; nothing is held */
	BACKEND_CPU_EVENT,	/* system scope: a perf event on its CPU */
	BACKEND_CPU_HOOK,	/* system scope: a hook's counter on its CPU */
	BACKEND_CPU_MSR,	/* system scope: a register of its CPU, see register.c */
	BACKEND_SLICED,		/* process scope: slices of a per-CPU source */
	BACKEND_FIGURES,	/* process scope: what the kernel keeps per task */
	BACKEND_EVENTS,		/* process scope: per-task events, see events.c */
};

struct task_event {
	int fd;
	int cpu;			/* -1: any */
	pid_t tid, tgid;
	bool timed;
};

struct task_events {
	struct task_event *list;
	unsigned int n;
};

/* One PMC. value = base + scaled(raw + what the backend has counted since raw was taken). */
struct count {
	struct count_spec spec;
	struct engine *e;
	struct count_owner *owner;
	LIST_ENTRY(count) on_row;	/* with the others on its row: struct count_row */
	LIST_ENTRY(count) in_all;	/* hotplug.c's */
	LIST_HEAD(, set_link) sets;	/* that it is a member of, target.c's */
	enum backend backend;
	unsigned int pos;		/* on the owner's page and counts; ~0u: none */
	bool running;
	bool has_targets;		/* until the note that the last has gone */
	bool had_waiting;		/* some target was to wait for its exec */
	bool lost;			/* its counter was taken away: every read says so */
	int lost_cpu;			/* … or was late on this CPU; -1: taken away */
	bool away;			/* system scope: its CPU is offline */
	uint32_t downs;			/* CPU_EVENT: the CPU's, when fd was opened */
	uint64_t base;
	uint64_t zero;			/* what its place among the owner's counts held before */
	uint64_t raw;			/* FIGURES: -(figures at START) + those of targets gone */
	uint64_t start;			/* CPU_*: the counter at START */
	uint64_t sets_lost;		/* children that sets lost which are gone … */
	uint64_t lost_targets;		/* … and target_lost() at START */
	unsigned int paid_events;	/* of POOL_EVENTS, but for `events` and `watches` */
	unsigned int paid_sources;	/* of POOL_SOURCES */
	unsigned int prepaid;		/* not 0: events opened now must be had, see rows.c */
	pid_t only;			/* its one target, 0: several, or children may join */
	uint64_t self_start;		/* FIGURES: the owner's own figure at START, for the page */
	int source;			/* SLICED */
	int fd;				/* CPU_EVENT, -1: CPU offline; CPU_MSR, -1: not running */
	bool selected;			/* CPU_MSR: the control register is written … */
	uint64_t select_old;		/* … and had this in the place of it */
	unsigned int needs;		/* bit per enum engine_need that it holds */
	struct task_events events;	/* EVENTS */
	struct task_events watches;	/* how long those that are timed should have counted */
	uint32_t generation;		/* of the descriptors passed on */
};

/* What one owner's PMCs share. */
struct count_owner {
	struct engine *e;
	struct user *user;
	pid_t tgid;
	struct engine_counts counts;
	int page_fd;			/* read-only */
	struct wire_page *page;
	uint64_t pos_used;
};

/*
 * One row of a hardware class under process scope: all its PMCs share a counter, in one of two
 * ways.
 */
struct count_row {
	LIST_HEAD(, count) users;
	LIST_HEAD(, count) soft;	/* those with per-task events, where the row is SOFT */
	int source;			/* sliced: the per-CPU event, -1: none */
	struct perf_event_spec spec;	/* sliced: what it counts */
	bool per_task;			/* the kernel switches per-task events instead */
	struct user *payer;		/* for the source, one of `users`'; NULL: nobody … */
	unsigned int paid;		/* … and how much */
};
struct count_row *target_count_row(struct targets *ts, unsigned int row);

/* page.c */
int page_new(struct count_owner *o, struct why *why);
void page_free(struct count_owner *o);
void page_update(struct count *c);

/* slices.c: PMCs that are counted in slices */
void slices_start(struct count *c);
void slices_stop(struct count *c);
void slices_update(const struct count *c);
/* A slice was not seen: the count is lost until it is forgotten. */
bool slices_missed(const struct count *c);
int slices_deny(const struct count *c, struct why *why);
void slices_lose(struct count *c);
void slices_forget(struct count *c);

/* figures.c: PMCs fed by per-task figures */
int figures_start(struct count *c, struct why *why);
int figures_stop(struct count *c, struct why *why);
int figures_detach(struct count *c, pid_t tgid);
int figures_read(struct count *c, uint64_t *raw, struct why *why);

/* events.c: per-task events that the kernel switches */
int events_attach(struct count *c, pid_t tgid, struct why *why);
/* For every target, events that count on one CPU only; at once if the PMC runs. */
int events_attach_cpu(struct count *c, unsigned int cpu);
/* Of every target, once each CPU has its events. */
int events_watch(struct count *c);
/* How many descriptors these two would take at most. */
unsigned int events_expect(const struct count *c);
/* True when it has events of CPUs, but none of this one: it was put into the machine since. */
bool events_lack_cpu(const struct count *c, unsigned int cpu);
void events_detach(struct count *c, pid_t tgid);
void events_close(struct count *c);
/* All are opened anew, with what spec says now; the PMC does not run. */
int events_renew(struct count *c, struct why *why);
int events_switch(struct count *c, bool on, struct why *why);
int events_sum(struct count *c, uint64_t *sum, struct why *why);

/* register.c: registers of a CPU, through the module */
int register_new(struct count *c, struct why *why);
int register_start(struct count *c, struct why *why);
void register_stop(struct count *c);
/* What has been counted is added up, before the register wraps. */
int register_fold(struct count *c, struct why *why);
/* Its CPU has gone or is back. */
void register_moved(struct count *c, bool here);
/* Some bits of it only: the owner cannot read it by itself, and the daemon has to look in time. */
bool register_narrow(const struct count *c);

/* rows.c: who shares a hardware counter, and how */
int row_join(struct count *c, struct why *why);
int row_fits(const struct count *c, const struct perf_event_spec *spec, struct why *why);
void row_add(struct count *c);
void row_leave(struct count *c);
/* All PMCs of the row go on with per-task events. */
int row_to_tasks(struct engine *e, struct count_row *row, struct why *why);

/* pay.c: what a PMC's user is charged */
int count_pay(struct count *c, unsigned int events, unsigned int sources, struct why *why);
void count_repay(struct count *c);
/* The source of a row; who pays for it is always one of the row's users. */
int row_pay(struct count_row *row, const struct count *c, struct why *why);
void row_repay(struct count_row *row);
/* One of its users has left. */
void row_pass_on(struct count_row *row);

/* count.c */
struct perf_event_spec count_event(const struct count *c);
/* Where the count of a software event comes from. */
enum soft_source count_source(const struct count_spec *spec);
/* A system-scope PMC's event on its CPU; one that samples is not enabled. fd or -errno. */
int cpu_event_open(const struct count *c);
void cpu_event_close(struct count *c);
uint64_t count_scale(const struct count *c, uint64_t raw);
uint64_t count_slices(const struct count *c);
bool count_self_only(const struct count *c);
/*
 * Does the owner read the counter of a CPU by itself?  Not a clock's: its ticks are scaled.  Who
 * has an event's descriptor can do more with it than read a count: hence spec.passes_fd.
 */
bool count_cpu_fd(const struct count *c);
/* Its counter was taken away or came late: this read and every later one says so. */
int count_lost(struct count *c, int err, struct why *why);
/* Attaches a program for as long as the PMC lives. */
int count_hold(struct count *c, enum engine_need what, struct why *why);

/* count_period.c: in the unit of the perf event; 0: it does not sample. */
uint64_t count_period(const struct count *c);

#endif

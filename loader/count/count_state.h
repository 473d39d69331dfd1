/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of this room share: a PMC's state and its owner's.  Only files of loader/count
 * include this.
 */
#ifndef PMCBPF_COUNT_STATE_H
#define PMCBPF_COUNT_STATE_H

#include <sys/queue.h>

#include "backend.h"
#include "count.h"
#include "loader/base/base.h"
#include "hotplug.h"
#include "target.h"
#include "loader/policy/policy.h"

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

/* One PMC; backend.h has what its value is made of. */
struct count {
	struct count_spec spec;
	struct engine *e;
	struct count_owner *owner;
	LIST_ENTRY(count) on_row;	/* with the others on its row: struct count_row */
	LIST_ENTRY(count) in_all;	/* hotplug.c's */
	LIST_HEAD(, set_link) sets;	/* that it is a member of, target.c's */
	const struct backend *backend;
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
	struct owner_counts counts;
	int page_fd;			/* read-only */
	struct wire_page *page;
	uint64_t pos_used;
};

/* The event that a PMC counts, as perf takes it. */
struct perf_event_spec count_state_event(const struct count *c);
/* A raw count in the unit that the owner reads; true if the two differ. */
uint64_t count_state_scale(const struct count *c, uint64_t raw);
bool count_state_scales(const struct count *c);
/* -ENXIO: the CPU of a system-scope PMC is offline. */
int count_state_away(const struct count *c, struct reason *why);
/* Its counter was taken away or came late: this read and every later one says so. */
int count_state_lost(struct count *c, int err, struct reason *why);
/* Attaches a program for as long as the PMC lives; both, and all at its end. */
int count_state_hold(struct count *c, enum engine_need what, struct reason *why);
void count_state_unhold(struct count *c);
/* Its owner is its only target and can have no other. */
bool count_state_self_only(const struct count *c);

#endif

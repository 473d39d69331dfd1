/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of PMCs and owners, shared by the files of this room.  Only files of loader/count
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

/* One PMC; backend.h explains its value. */
struct count {
	struct count_spec spec;
	struct engine *e;
	struct count_owner *owner;
	LIST_ENTRY(count) on_row;	/* with the others on its row: struct count_row */
	LIST_ENTRY(count) in_all;	/* the list of hotplug.c */
	LIST_HEAD(, set_link) sets;	/* sets that it is a member of; target.c */
	const struct backend *backend;
	uint64_t tag;			/* of its events: spec.tag, or one of its own */
	unsigned int pos;		/* index on the owner's page and in its counts; ~0u: none */
	bool running;
	bool stopping;			/* the owner's page has no value meanwhile */
	bool starting;			/* task_events.c: opens events for a start */
	bool deferred;			/* hand_over.c: opens events that it enables later */
	bool has_targets;		/* until the note that its last target has gone */
	bool had_waiting;		/* some target had to wait for its exec */
	bool lost;			/* its counter was taken away: every read fails */
	int lost_cpu;			/* … or came late on this CPU; -1: taken away */
	bool away;			/* system scope: its CPU is offline */
	uint32_t downs;			/* cpu_event.c: the CPU's `downs` when fd was opened */
	uint64_t base;
	uint64_t zero;			/* earlier content of its place among the owner's counts */
	uint64_t raw;			/* figures.c: figures of targets gone - figures at START */
	uint64_t start;			/* system scope: the counter at START */
	uint64_t sets_lost;		/* children lost by sets that no longer exist … */
	uint64_t lost_targets;		/* … and target_lost() at START */
	unsigned int paid_events;	/* charged to POOL_EVENTS, except `events` and `watches` */
	unsigned int paid_sources;	/* charged to POOL_SOURCES */
	unsigned int prepaid;		/* not 0: room for events is reserved, hand_over.c */
	pid_t tid;			/* spec.thread: the one that it counts */
	pid_t only;			/* its only target; 0: several, or children may join */
	uint64_t self_start;		/* figures.c: the owner's figure at START, for the page */
	int source;			/* slices.c, cpu_tracepoint.c */
	struct count *first;		/* of its group, NULL: in none … */
	struct count *lender;		/* … an earlier one that counts the same … */
	unsigned int place;		/* … its number among those that count different events … */
	unsigned int places;		/* … of the first: how many these are */
	char *filter;			/* memory of spec.event.filter */
	bool pays_source;		/* charged for the source that its user's PMCs share */
	uint64_t missed;		/* hold_tracepoint.c: hits missed before START */
	bool missed_some;		/* … some were missed between START and STOP */
	int fd;				/* cpu_event.c, -1: CPU offline; register.c, -1: stopped */
	bool selected;			/* register.c: the control register is written … */
	uint64_t select_old;		/* … and held this before */
	unsigned int needs;		/* bit per enum engine_need that it holds */
	struct probe_sites *sites;	/* NULL: not of a single thread's probe */
	struct cgroup_state *cgroup;	/* cgroup.h, NULL: not of a cgroup */
	struct task_events events;	/* task_events.c */
	struct task_events watches;	/* time for which the timed ones should have counted */
	uint32_t generation;		/* of the descriptors passed to the owner */
};

/* The part that one owner's PMCs share. */
struct count_owner {
	struct engine *e;
	struct user *user;
	pid_t tgid;
	struct owner_counts counts;
	int page_fd;			/* read-only */
	struct wire_page *page;
	uint64_t pos_used;
};

/* The PMC's event as perf accepts it. */
struct perf_event_spec count_state_event(const struct count *c);
/* Closes an event of the PMC; the kernel may wait long for the end of a tracepoint's or probe's. */
void count_state_close_event(const struct count *c, int fd);
/* Scales a raw count to the owner's unit; true if the two differ. */
uint64_t count_state_scale(const struct count *c, uint64_t raw);
bool count_state_scales(const struct count *c);
/* -ENXIO: the CPU of a system-scope PMC is offline. */
int count_state_away(const struct count *c, struct reason *why);
/* Its counter was taken away or came late: fails this read and every later one. */
int count_state_lost(struct count *c, int err, struct reason *why);
/* Attaches a program until the PMC ends; the second function drops all of them at the end. */
int count_state_hold(struct count *c, enum engine_need what, struct reason *why);
void count_state_unhold(struct count *c);
/* True if its owner is its only target and no other process can join. */
/* -ESRCH: the thread was not `found`, or by now c->tid is none of that process. */
int count_state_check_thread(const struct count *c, pid_t tgid, bool found, struct reason *why);
bool count_state_self_only(const struct count *c);

#endif

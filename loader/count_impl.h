/* SPDX-License-Identifier: BSD-2-Clause */
/* What count.c, target.c, events.c and page.c share about a PMC's counting. */
#ifndef PMCBPF_COUNT_IMPL_H
#define PMCBPF_COUNT_IMPL_H

#include "count.h"
#include "target.h"

/* Where a PMC's count comes from. */
enum backend {
	BACKEND_TSC,		/* the register; nothing is held */
	BACKEND_CPU_EVENT,	/* system scope: a perf event on its CPU */
	BACKEND_CPU_HOOK,	/* system scope: a hook's counter on its CPU */
	BACKEND_SLICED,		/* process scope: slices of a per-CPU source */
	BACKEND_FIGURES,	/* process scope: what the kernel keeps per task */
	BACKEND_EVENTS,		/* process scope: per-task events, see events.c */
};

struct task_event {
	int fd;
	int cpu;			/* -1: any */
	pid_t tid, tgid;
};

/* One PMC. value = base + scaled(raw + what the backend has counted since raw was taken). */
struct count {
	struct count_spec spec;
	struct engine *e;
	struct count_owner *owner;
	struct count *row_next;		/* others on the same row, process scope */
	enum backend backend;
	unsigned int pos;		/* on the owner's page and counts; ~0u: none */
	bool running;
	bool lost;			/* its counter was taken away: every read says so */
	uint64_t base;
	uint64_t zero;			/* what its place among the owner's counts held before */
	uint64_t raw;			/* FIGURES: -(figures at START) + those of targets gone */
	uint64_t start;			/* CPU_*: the counter at START */
	uint64_t lost_targets;		/* engine_lost_targets() at START */
	pid_t only;			/* its one target, 0: several, or children may join */
	uint64_t self_start;		/* FIGURES: the owner's own figure at START, for the page */
	int source;			/* SLICED */
	int fd;				/* CPU_EVENT */
	unsigned int needs;		/* bit per enum engine_need that it holds */
	struct task_event *events;	/* EVENTS */
	unsigned int nevents;
	uint32_t generation;		/* of the descriptors handed out */
};

/* What one owner's PMCs share. */
struct count_owner {
	struct engine *e;
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
	struct count *users;
	int source;			/* sliced: the per-CPU event, -1: none */
	struct perf_event_spec spec;	/* sliced: what it counts */
	bool per_task;			/* the kernel switches per-task events instead */
};
struct count_row *target_count_row(struct targets *ts, unsigned int row);

/* page.c */
int page_new(struct count_owner *o, struct why *why);
void page_free(struct count_owner *o);
void page_update(struct count *c);

/* figures.c: PMCs fed by per-task figures */
int figures_start(struct count *c, struct why *why);
int figures_stop(struct count *c, struct why *why);
int figures_detach(struct count *c, pid_t tgid);
int figures_read(struct count *c, uint64_t *raw, struct why *why);

/* events.c: per-task events that the kernel switches */
int events_attach(struct count *c, pid_t tgid, struct why *why);
/* For every target, events that count on one CPU only; at once if the PMC runs. */
int events_attach_cpu(struct count *c, unsigned int cpu);
void events_detach(struct count *c, pid_t tgid);
void events_close(struct count *c);
int events_switch(struct count *c, bool on, struct why *why);
int events_sum(struct count *c, uint64_t *sum, struct why *why);

/* rows.c: who shares a hardware counter, and how */
int row_join(struct count *c, struct why *why);
int row_fits(const struct count *c, const struct perf_event_spec *spec, struct why *why);
void row_add(struct count *c);
void row_leave(struct count *c);
/* All PMCs of the row go on with per-task events. */
int row_to_tasks(struct engine *e, struct count_row *row, struct why *why);

/* count.c */
struct perf_event_spec count_event(const struct count *c);
uint64_t count_scale(const struct count *c, uint64_t raw);
uint64_t count_slices(const struct count *c);
bool count_self_only(const struct count *c);
/* Another user of the PMU took its counter: this read and every later one says so. */
int count_lost(struct count *c, int err, struct why *why);
/* Attaches a program for as long as the PMC lives. */
int count_hold(struct count *c, enum engine_need what, struct why *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counting: what a PMC does once its row, owner and permissions are settled.  The operations own
 * the state machine and check it first; a count only ever sees legal calls.
 */
#ifndef PMCBPF_COUNT_H
#define PMCBPF_COUNT_H

#include <sys/types.h>

#include "engine.h"
#include "perf.h"
#include "soft.h"

struct count;
struct count_owner;

enum count_kind {
	COUNT_TSC,		/* the row holds nothing; clients read the register */
	COUNT_SOFT,
	COUNT_HARDWARE,
};

struct count_spec {
	enum count_kind kind;
	bool system;			/* system scope, on `cpu` */
	bool descendants;
	unsigned int cpu;
	unsigned int row;		/* 0 … npmc-1 */
	uint32_t pmcid;			/* for the page */
	const struct soft_event *soft;	/* COUNT_SOFT */
	struct perf_event_spec event;	/* COUNT_HARDWARE */
};

/* What one owner's PMCs share: the pages its process maps. tgid in the daemon's pid namespace. */
int count_owner_new(struct engine *e, pid_t tgid, struct count_owner **out, struct why *why);
void count_owner_free(struct count_owner *o);
/* fds[0] the page, fds[1] the per-CPU counts: borrowed, read-only, to be passed to the client. */
void count_owner_fds(const struct count_owner *o, int fds[2]);

/*
 * How well a row fits: 0 when its counters are unused or already count this very event, 1 when
 * per-task events would be needed because the row counts something else for other targets.
 */
int count_rank(const struct engine *e, const struct count_spec *spec);

/*
 * Reserves the counters. -EINVAL: the PMU has none left for this event; -ENXIO: the CPU is offline.
 */
int count_new(struct engine *e, struct count_owner *o, const struct count_spec *spec,
	      struct count **out, struct why *why);
/* Stops, detaches and frees; the row's counters are given back when nobody else uses them. */
void count_free(struct count *c);

/* Index on the owner's page, ~0u when the page does not serve it. */
unsigned int count_pos(const struct count *c);

/* -EEXIST, -EBUSY (row taken on that target), -ESRCH (gone). All or nothing over descendants. */
int count_attach(struct count *c, int pidfd, pid_t tgid, struct why *why);
/* -ESRCH: not monitored at all; -EINVAL: not by this one. */
int count_detach(struct count *c, pid_t tgid, struct why *why);
unsigned int count_ntargets(const struct count *c);
/* True when anybody's PMC on this row has the process as a target. */
bool count_row_targets(const struct engine *e, unsigned int row, pid_t tgid);

/* Exact at return: no target counts before START or after STOP. -ENXIO: CPU offline. */
int count_start(struct count *c, struct why *why);
int count_stop(struct count *c, struct why *why);
int count_read(struct count *c, uint64_t *value, struct why *why);
int count_write(struct count *c, uint64_t value, struct why *why);

/*
 * After START: descriptors by which the owner reads its own threads' events. Borrowed; returns
 * their number (0: not read that way) and the page generation they belong to.
 */
unsigned int count_self_fds(const struct count *c, int *fds, unsigned int max,
			    uint32_t *generation);

#endif

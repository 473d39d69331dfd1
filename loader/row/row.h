/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows and classes.  A row is one counter position on every CPU; a class (class.h) is a range of
 * rows with the events that they can count.  This file is bookkeeping only: which PMCs may take a
 * row, and which acceptable row is chosen.  Operations call it from the event loop's thread.
 *
 * A row is FREE, THREAD (process-scope PMCs have it, `balance` > 0) or STANDALONE (system-scope
 * PMCs or disabled slots, `balance` < 0), never two of these.
 */
#ifndef PMCBPF_ROW_H
#define PMCBPF_ROW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "class.h"
#include "soft.h"

#define ROW_MAX     255u /* a handle has eight bits for it; all ones is reserved */
#define ROW_CPU_MAX 0xffeu		/* and twelve for the CPU */

struct debug;
struct pmc;

struct row_class {
	const struct class_ops *ops;
	char prefix[32];		/* of the rows' names */
	bool numbered;			/* SOFT0, SOFT1, …; false: TSC */
	bool everywhere;		/* a PMU's: it exists on every CPU of the machine */
	uint64_t generic;		/* a PMU's: perf's own events that it has, by position */
	const char *const *name;	/* of each row, MSR-APERF; NULL: rows have no names */
	struct wire_classinfo info;
};

struct row_slot {			/* one row on one CPU */
	struct pmc *last;		/* the latest system-scope PMC on it */
	unsigned int users;
	bool disabled;
};

struct row {
	unsigned int class;		/* index in row_table.classes */
	int balance; /* > 0 process-scope PMCs; < 0 system-scope PMCs and disabled slots */
	LIST_HEAD(, pmc) pmcs;		/* all PMCs on the row, the latest first */
	struct row_slot *cpu;		/* one per CPU */
};

struct row_table {
	unsigned int ncpu, nclass, nrow;
	struct row_class classes[WIRE_CLASS_MAX];
	struct row rows[ROW_MAX];
	const struct debug *debug;	/* of releases */
};

int row_table_init(struct row_table *t, unsigned int ncpu, struct reason *why);
void row_table_free(struct row_table *t);

/* Adds a class and its rows behind the existing ones. */
int row_add_class(struct row_table *t, const struct row_class *class, struct reason *why);
/* Removes the discovered classes, which come last: -EBUSY while a PMC is on such a row. */
int row_drop_discovered(struct row_table *t);

const struct row_class *row_class_find(const struct row_table *t, uint32_t class);
/* Of several PMUs of a class, the one of that perf type; 0: the first. */
const struct row_class *row_class_find_pmu(const struct row_table *t, uint32_t class,
					   uint32_t pmu);
/* "ARMV8-3" */
void row_name(const struct row_table *t, unsigned int row, char *buf, size_t size);

uint32_t row_disposition(const struct row *r);	/* enum pmc_disp */

/*
 * A row serves one scope at a time, and a process has at most one PMC on it.  A user with PMCs on
 * all rows would keep all others from the other scope, and from measuring that user's processes.
 * The last rows of a class, `reserve` in number, are therefore for privileged users only.  Classes
 * without a choice of rows for an event need no such rule.
 */
bool row_class_pools(const struct row_class *c);
bool row_is_reserved(const struct row_class *c, unsigned int row, unsigned int reserve);

struct row_request {
	bool system;
	unsigned int cpu;		/* system scope */
	bool shareable; /* the row holds nothing, so each slot has room for all */
	bool own;       /* the caller has a PMC of that scope (and CPU) here already */
	bool target;			/* the caller is a PMC's target here (process scope) */
	bool reserved;			/* the row is reserved for others: row_is_reserved() */
	bool no_more;			/* the caller's user may take no further row */
};

enum row_verdict {
	ROW_FITS,
	ROW_OWN,
	ROW_TARGET,
	ROW_IS_THREAD,
	ROW_IS_STANDALONE,
	ROW_SLOT_DISABLED,
	ROW_SLOT_USED,
	ROW_RESERVED,
	ROW_NO_MORE,
	ROW_OTHER_EVENT,		/* of count_rank(), not of row_judge() */
};
enum row_verdict row_judge(const struct row *r, const struct row_request *rq);

/*
 * An acceptable row and its count_rank().  Rows that count this very event for others come first,
 * free ones next, and last those that would need per-task events.  A `load` goes before all that.
 */
struct row_choice {
	unsigned int row;
	int rank;
	bool shared;			/* the row is THREAD already */
	unsigned int load;		/* the less, the better */
};
void row_order(struct row_choice *choices, unsigned int n);

void row_take(struct row *r, bool system, unsigned int cpu, struct pmc *pmc);
/* `next`: the PMC that is the latest in the slot from then on, if any. */
void row_give(struct row *r, bool system, unsigned int cpu, struct pmc *next);

/* Administration: -EBUSY if the row or slot is in use.  Repeating a request changes nothing. */
int row_disable(struct row *r, unsigned int cpu);
int row_enable(struct row *r, unsigned int cpu);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of counts as text: the table of pmcstat(8), CSV, JSON.  Pure functions: no I/O. */
#ifndef PMCBPF_CLI_TABLE_H
#define PMCBPF_CLI_TABLE_H

#include <pmc.h>

#include "cli/common/common.h"

/*
 * One PMC: a -p, or one CPU of a -s.  With --per-core and its like the column of the first CPU of a
 * unit shows the sum, and those of the others are not shown.
 */
struct column {
	const char *spec;	/* as typed */
	char *name;		/* spec up to the first comma, blank or tab */
	enum pmc_mode mode;
	uint32_t flags;
	int cpu;		/* PMC_CPU_ANY in process scope */
	double scale;		/* of each event, in this unit; "": counts are shown as they are */
	char scaled[32];
	char unit[TOPOLOGY_NAME];	/* that the sum is of; "": the CPU stands for itself */
	size_t cgroup;		/* 1 + the index of the cgroup of --for-each-cgroup; 0: none */
	size_t leader;		/* 1 + the index of its group's first column; 0: in no group */
	size_t kinds;		/* of CPUs: it has no PMC, and shows the sum of so many behind it */
	char **specs;		/* memory of the specifiers of these columns, or NULL */
	size_t part;		/* 0: shown; else 1 + the index of the column that shows its sum */
	bool cumulative;
	bool allocated;
	pmc_value_t rate;	/* sampling modes: the period; 0: the event's default */
	bool away;		/* its CPU is offline: `value` stands still */
	pmc_id_t id;
	pmc_value_t base;	/* value at the start of a counter that cannot be set to 0 */
	pmc_value_t value;	/* last read, minus base */
	pmc_value_t printed;	/* the value of the last row */
	unsigned int field;	/* width, without the blank behind it */
	unsigned int skip;	/* blanks before the head */
};

/* A row of one thread or one cgroup. */
struct row_label {
	pid_t pid, tid;		/* 0: a cgroup */
	const char *name;
};

struct count_table {
	const struct row_label *label;	/* of the next row; NULL: it shows everything */
	unsigned int page;	/* rows between two headers */
	unsigned int rows;	/* since the last one */
	bool begun;
};

#define TABLE_PAGE_FILE 256u

struct count_format {
	/* Appends a row of the values in `columns`, and a header before it if one is due. */
	void (*row)(struct buf *out, struct count_table *table, double seconds,
		    const struct column *columns, size_t count);
	void (*end)(struct buf *out, const struct count_table *table);
};

extern const struct count_format format_table, format_csv, format_json;

/* The name of a specifier, for free(3); NULL without memory. */
char *column_name(const char *spec);

void column_free(struct column *column);

/* Sets field and skip from the counter's width in bits. */
void column_measure(struct column *column, unsigned int bits);

#endif

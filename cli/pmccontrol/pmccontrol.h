/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmccontrol(8): state and administration of rows.  pmccontrol.c parses the command line into a
 * struct control, which chooses one of show.c (-L -l), statistics.c (-s), admin.c (-c -e -d),
 * tunable.c, policy.c and doctor.c with the local gates of gates.c.  Everything runs in the main
 * thread.
 *
 * Functions that return int return 0 or an exit code, and have printed its line.  A query puts its
 * whole output together in memory before it prints it: if it fails half-way, nothing is printed.
 */
#ifndef PMCBPF_CLI_CTL_H
#define PMCBPF_CLI_CTL_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/common/common.h"

#define CTL_ALL (-1)

/* One -e or -d, with the -c before it. */
struct admin {
	bool enable;
	int cpu;		/* CTL_ALL: every CPU */
	int row;		/* CTL_ALL: every row */
};

struct control {
	/* 'l', 'L', 's', 'D' (--doctor), 'P' (--policy), 'T' (--tunable), 'e' (rows), 0 */
	char command;
	const char *command_option;	/* the option that chose it */
	const char *tunable;		/* NAME, NAME=VALUE, or NULL: all */
	int cpu;		/* the last -c */
	bool json, openmetrics;
	struct admin *admin;
	size_t nadmin;
};

/* show.c: the queries, as text or JSON on stdout. */
int show_rows(const struct control *control);
int show_events(const struct control *control);

/* statistics.c: the same, or as OpenMetrics. */
int statistics_show(const struct control *control);

/* show.c: prints and frees the output of a query; nothing is printed if `code` is not 0. */
int show_print(struct buf *out, int code);

/* doctor.c: works without a daemon. */
int doctor_run(const struct control *control);

/* policy.c */
int policy_run(const struct control *control);

/* tunable.c */
int tunable_run(const struct control *control);

/* admin.c */
int admin_add(struct control *control, bool enable, int row);
int admin_run(const struct control *control);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pmccontrol: state and administration of rows.  Functions that return int return 0 or the exit
 * code, and have printed their line when it is not 0.
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
	/* 'l', 'L', 's', 'D' (--doctor), 'T' (--tunable), 'e' (administration), 0 */
	char command;
	const char *command_option;	/* the option that chose it, for messages */
	const char *tunable;		/* NAME, NAME=VALUE, or NULL: all */
	int cpu;		/* the last -c */
	bool json;
	struct admin *admin;
	size_t nadmin;
};

/* ctl_show.c: the queries, as text or JSON on stdout. */
int show_rows(const struct control *control);
int show_events(const struct control *control);
int show_statistics(const struct control *control);

/* Prints what was put together; nothing of it when a query failed on the way. */
int control_print(struct buf *out, int code);

/* ctl_doctor.c: needs no daemon. */
int doctor_run(const struct control *control);

/* ctl_tunable.c */
int tunable_run(const struct control *control);

/* ctl_admin.c */
int admin_add(struct control *control, bool enable, int row);
int admin_run(const struct control *control);

#endif

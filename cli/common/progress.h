/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress of reading a log, on one line of a terminal. */
#ifndef PMCBPF_CLI_PROGRESS_H
#define PMCBPF_CLI_PROGRESS_H

#include <pmclog.h>

#include <stdbool.h>
#include <time.h>

struct progress {
	int terminal;		/* -1: nothing is shown */
	bool shown;
	unsigned int skipped;	/* records since the clock was last read */
	off_t size;
	struct timespec last;
};

/* Begins to read `fd`.  Shows nothing if `terminal` is none or -1, or the file has no size. */
void progress_begin(struct progress *p, int fd, int terminal);
void progress_show(struct progress *p, const struct pmclog_ev *ev);
void progress_end(struct progress *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a long read has come, on a line of a terminal that is overwritten. */
#ifndef PMCBPF_CLI_PROGRESS_H
#define PMCBPF_CLI_PROGRESS_H

#include <pmclog.h>

#include <stdbool.h>
#include <time.h>

struct progress {
	int terminal;		/* -1: nothing is shown */
	bool shown;
	unsigned int skipped;	/* records since the clock was asked */
	off_t size;
	struct timespec last;
};

/* Of the file `fd`; nothing is shown where `terminal` is none, or -1, or the size is not known. */
void progress_begin(struct progress *p, int fd, int terminal);
void progress_show(struct progress *p, const struct pmclog_ev *ev);
void progress_end(struct progress *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* How far a long read has come, on a terminal. */
#ifndef PMCBPF_CLI_PROGRESS_H
#define PMCBPF_CLI_PROGRESS_H

#include <pmclog.h>

#include <stdbool.h>
#include <time.h>

struct progress {
	bool on, shown;
	unsigned int skipped;	/* records since the clock was asked */
	off_t size;
	struct timespec last;
};

/* `wanted`, and there is a terminal and a file whose size is known. */
void progress_begin(struct progress *p, int fd, bool wanted);
void progress_show(struct progress *p, const struct pmclog_ev *ev);
void progress_end(struct progress *p);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Progress of a read: see progress.h. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress.h"

#define INTERVAL 0.5
#define RECORDS	 1024u		/* between two looks at the clock */

void progress_begin(struct progress *p, int fd, int terminal)
{
	struct stat st = { 0 };
	bool shown = isatty(terminal) == 1 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		     st.st_size > 0;

	*p = (struct progress){ .terminal = shown ? terminal : -1, .size = st.st_size };
	clock_gettime(CLOCK_MONOTONIC, &p->last);
}

void progress_show(struct progress *p, const struct pmclog_ev *ev)
{
	struct timespec now;

	if (p->terminal < 0 || ++p->skipped < RECORDS)
		return;
	p->skipped = 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if ((double)(now.tv_sec - p->last.tv_sec) + (double)(now.tv_nsec - p->last.tv_nsec) / 1e9 <
	    INTERVAL)
		return;
	p->last = now;
	p->shown = true;
	dprintf(p->terminal, "\r%3d%%  %zu records", (int)(ev->pl_offset * 100 / p->size),
		ev->pl_count);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		dprintf(p->terminal, "\r\033[K");
	p->shown = false;
}

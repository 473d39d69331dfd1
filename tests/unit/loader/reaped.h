/* SPDX-License-Identifier: BSD-2-Clause */
/* Logs have a thread each, which ends, and closes its file, after the last record is written. */
#ifndef PMCBPF_UNIT_REAPED_H
#define PMCBPF_UNIT_REAPED_H

#include <dirent.h>
#include <poll.h>

#include "loader/log/logfile.h"
#include "unit.h"

static inline bool one_thread(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *d;
	int n = 0;

	assert_non_null(dir);
	while ((d = readdir(dir)))
		n += d->d_name[0] != '.';
	closedir(dir);
	return n == 1;
}

/* Every log has ended. */
static inline void until_reaped(struct logpool *pool, int event)
{
	struct pollfd p = { .fd = event, .events = POLLIN };

	for (int i = 0; i < 6000 && !one_thread(); i++)
		if (poll(&p, 1, 10) > 0)
			logpool_reap(pool);
	assert_true(one_thread());
	/* The last one may have ended since. */
	logpool_reap(pool);
}

#endif

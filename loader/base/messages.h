/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's messages: to standard error, and to syslog once it is in the background. */
#ifndef PMCBPF_LOG_H
#define PMCBPF_LOG_H

#include <stdbool.h>
#include <syslog.h>

struct log {
	bool background;
	/* Where tests hear them; NULL: as above. */
	void (*sink)(int priority, const char *line);
};

void log_background(struct log *log);

/* "pmcbpfd: text" */
void log_msg(const struct log *log, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "hwpmc: text", as the kernel module of that name words it. */
void log_hwpmc(const struct log *log, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

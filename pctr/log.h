/* SPDX-License-Identifier: BSD-2-Clause */
/* pctrd's messages: to standard error, and to syslog once it is in the background. */
#ifndef PMCBPF_PCTR_LOG_H
#define PMCBPF_PCTR_LOG_H

#include <stdbool.h>
#include <syslog.h>

struct log {
	bool background;
};

void log_background(struct log *log);

/* One line, "pctrd: text". */
void log_msg(const struct log *log, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

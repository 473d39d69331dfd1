/* SPDX-License-Identifier: BSD-2-Clause */
/* pctrd's messages: to standard error, and to syslog once it is in the background. */
#ifndef PMCBPF_PCTR_MESSAGES_H
#define PMCBPF_PCTR_MESSAGES_H

#include <stdbool.h>
#include <syslog.h>

struct messages {
	bool background;
};

void messages_background(struct messages *messages);

/* One line, "pctrd: text". */
void messages_put(const struct messages *messages, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The daemon's messages, to standard error, or to syslog when it is in the background. */
#ifndef PMCBPF_MESSAGES_H
#define PMCBPF_MESSAGES_H

#include <stdbool.h>
#include <syslog.h>

struct messages {
	bool background;
	/* For tests; NULL: as above. */
	void (*sink)(int priority, const char *line);
};

void messages_background(struct messages *messages);

/* "pmcbpfd: text" */
void messages_put(const struct messages *messages, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "hwpmc: text": a message that FreeBSD's module has, too. */
void messages_put_hwpmc(const struct messages *messages, int priority, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* See messages.h. */
#include <stdarg.h>
#include <stdio.h>

#include "messages.h"

static void messages_emit(const struct log *log, int priority, const char *prefix, const char *fmt,
			  va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (log->sink)
		log->sink(priority, text);
	else if (log->background)
		syslog(priority, "%s%s", prefix, text);
	else
		fprintf(stderr, "%s%s\n", *prefix ? prefix : "pmcbpfd: ", text);
}

void messages_background(struct log *log)
{
	openlog("pmcbpfd", LOG_PID, LOG_DAEMON);
	log->background = true;
}

void messages_put(const struct log *log, int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	messages_emit(log, priority, "", fmt, ap);
	va_end(ap);
}

void messages_put_hwpmc(const struct log *log, int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	messages_emit(log, priority, "hwpmc: ", fmt, ap);
	va_end(ap);
}

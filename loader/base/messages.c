/* SPDX-License-Identifier: BSD-2-Clause */
/* See messages.h. */
#include <stdarg.h>
#include <stdio.h>

#include "lib/base/journal.h"
#include "messages.h"

static void messages_emit(const struct messages *messages, int priority, const char *prefix,
			  const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	if (messages->sink)
		messages->sink(priority, text);
	else if (messages->background)
		syslog(priority, "%s%s", prefix, text);
	else
		journal_put(priority, *prefix ? "hwpmc" : "pmcbpfd", text);
}

void messages_background(struct messages *messages)
{
	openlog("pmcbpfd", LOG_PID, LOG_DAEMON);
	messages->background = true;
}

void messages_put(const struct messages *messages, int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	messages_emit(messages, priority, "", fmt, ap);
	va_end(ap);
}

void messages_put_hwpmc(const struct messages *messages, int priority, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	messages_emit(messages, priority, "hwpmc: ", fmt, ap);
	va_end(ap);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing messages: see messages.h. */
#include <stdarg.h>
#include <stdio.h>

#include "lib/base/journal.h"
#include "lib/base/reason.h"
#include "messages.h"

void messages_background(struct messages *messages)
{
	openlog("pctrd", LOG_PID, LOG_DAEMON);
	messages->background = true;
}

void messages_put(const struct messages *messages, int priority, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Reasons may quote clients' input. */
	reason_clean(text);
	if (messages->background)
		syslog(priority, "%s", text);
	else
		journal_put(priority, "pctrd", text);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Writing messages: see log.h. */
#include <stdarg.h>
#include <stdio.h>

#include "log.h"

void log_background(struct log *log)
{
	openlog("pctrd", LOG_PID, LOG_DAEMON);
	log->background = true;
}

void log_msg(const struct log *log, int priority, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Reasons may quote clients' input. */
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	if (log->background)
		syslog(priority, "%s", text);
	else
		fprintf(stderr, "pctrd: %s\n", text);
}

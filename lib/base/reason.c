/* SPDX-License-Identifier: BSD-2-Clause */
/* One line of text for a failure, cut to size and free of control characters. */
#include <stdarg.h>
#include <stdio.h>

#include "reason.h"

void reason_clean(char *text)
{
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
}

int deny(struct reason *why, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	/* Users choose names of events and files; terminals and log files show the line. */
	reason_clean(why->text);
	return err;
}

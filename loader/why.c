/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of a refusal: cut to size, one line, printable. */
#include <stdarg.h>
#include <stdio.h>

#include "why.h"

int deny(struct why *why, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	/* Event and file names come from strangers; the line ends up on terminals and in logs. */
	for (char *p = why->text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return err;
}

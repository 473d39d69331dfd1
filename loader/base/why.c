/* SPDX-License-Identifier: BSD-2-Clause */
/* See why.h; the text is one printable line, cut to size. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "why.h"

#define LOG_TAIL       200
#define ADDRESS_DIGITS 12u		/* a number that long may be an address */

int deny(struct why *why, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why->text, sizeof(why->text), fmt, ap);
	va_end(ap);
	/* Clients choose names of events and files; terminals and log files show the line. */
	for (char *p = why->text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return err;
}

/* The verifier's log has addresses of the kernel, which clients must not see. */
static void text_hide_addresses(char *log)
{
	for (char *p = log; (p = strstr(p, "0x")); ) {
		size_t digits = strspn(p + 2, "0123456789abcdef");

		if (digits >= ADDRESS_DIGITS)
			memset(p + 2, 'x', digits);
		p += 2 + digits;
	}
}

int deny_program(struct why *why, int err, const char *what, char *log)
{
	size_t len = strlen(log);

	text_hide_addresses(log);
	while (len && log[len - 1] == '\n')
		log[--len] = '\0';
	for (char *p = log; *p; p++)
		if (*p == '\n')
			*p = ';';
	return deny(why, err, "the kernel refused %s: %s: %s", what, strerror(-err),
		    len > LOG_TAIL ? log + len - LOG_TAIL : log);
}

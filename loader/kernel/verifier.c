/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of the verifier's log as part of a reason: one line without addresses. */
#include <errno.h>
#include <string.h>

#include "verifier.h"

#define TRIES	       10u
#define LOG_TAIL       200
#define ADDRESS_DIGITS 12u		/* a number that long may be an address */

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

bool verifier_was_interrupted(int err, unsigned int *tries)
{
	return (err == -EAGAIN || err == -ENOSPC) && ++*tries < TRIES;
}

int verifier_deny(struct reason *why, int err, const char *what, char *log)
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

/* SPDX-License-Identifier: BSD-2-Clause */
/* The one line that travels with a refusal: what was asked, what is in the way, what would work. */
#ifndef PMCBPF_WHY_H
#define PMCBPF_WHY_H

#include "lib/base/wire.h"

struct why {
	char text[WIRE_MAX_REASON + 1];
};

/* Stores the text and returns err (negative errno), so that a check is one statement. */
int deny(struct why *why, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Also: after it, the last lines of the verifier's log, which loses its newlines. */
int deny_program(struct why *why, int err, const char *what, char *log);

#endif

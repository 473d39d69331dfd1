/* SPDX-License-Identifier: BSD-2-Clause */
/* The one line that goes with a failure: what was asked, what is in the way, what would work. */
#ifndef PMCBPF_REASON_H
#define PMCBPF_REASON_H

#include "wire.h"

struct reason {
	char text[WIRE_MAX_REASON + 1];
};

/* Stores the line and returns err (a negative errno), so that a check is one statement. */
int refuse(struct reason *why, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif

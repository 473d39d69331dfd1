/* SPDX-License-Identifier: BSD-2-Clause */
/* The line of text that goes with a failure: the request, the obstacle, and a remedy. */
#ifndef PMCBPF_REASON_H
#define PMCBPF_REASON_H

#include "wire.h"

struct reason {
	char text[WIRE_MAX_REASON + 1];
};

/* Stores the line and returns err (a negative errno), so that a check is one statement. */
int deny(struct reason *why, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Replaces control characters of a text, such as one that quotes a client, by question marks. */
void reason_clean(char *text);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The reason of a refusal, one line: the request, the obstacle, the remedy. */
#ifndef PMCBPF_WHY_H
#define PMCBPF_WHY_H

#include "lib/base/wire.h"

struct why {
	char text[WIRE_MAX_REASON + 1];
};

/* Stores the text and returns err, so that a check is one statement. */
int deny(struct why *why, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* For a program that the kernel refused: also the last lines of the verifier's log. */
int deny_program(struct why *why, int err, const char *what, char *log);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* The reason of a refusal for a program that the kernel does not load. */
#ifndef PMCBPF_VERIFIER_H
#define PMCBPF_VERIFIER_H

#include "loader/base/base.h"

/* As deny(), with the last lines of the verifier's log, which is changed. */
int verifier_deny(struct reason *why, int err, const char *what, char *log);

#endif

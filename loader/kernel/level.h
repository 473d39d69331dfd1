/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The PID namespace that the daemon is in.  Its numbers are those of /proc, of perf's records and
 * of pidfds; the kernel's own, which BPF programs find first, are the initial namespace's.
 */
#ifndef PMCBPF_LEVEL_H
#define PMCBPF_LEVEL_H

#include "loader/base/base.h"

/* 1 if it is not the initial one, else 0; -EINVAL: /proc has the numbers of another one. */
int level_nested(struct reason *why);
/* Runs the program by which the others learn which one it is. */
int level_learn(int program, struct reason *why);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's PID namespace.  /proc, perf's records and pidfds use its numbers; the task
 * structures that BPF programs see start with those of the initial namespace.
 */
#ifndef PMCBPF_LEVEL_H
#define PMCBPF_LEVEL_H

#include "loader/base/base.h"

/* 1 if it is not the initial namespace, else 0; -EINVAL: /proc belongs to another namespace. */
int level_nested(struct reason *why);
/* Runs the program that records the namespace for the others. */
int level_learn(int program, struct reason *why);

#endif

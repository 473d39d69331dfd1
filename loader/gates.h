/* SPDX-License-Identifier: BSD-2-Clause */
/* What the doctor reads in files: who else uses perf, and whether this is a virtual machine. */
#ifndef PMCBPF_GATES_H
#define PMCBPF_GATES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct perf_user {
	pid_t pid;
	char name[17];
};

/*
 * Processes below `proc` (/proc) other than `self` that have a perf event open.  Fills at most max;
 * *all is false when there were more, or more descriptors than a request should look at.
 */
unsigned int gates_perf_users(const char *proc, pid_t self, struct perf_user *users,
			      unsigned int max, bool *all);

/* True in a virtual machine, whose name goes to `name` ("" if it tells none).  `root` is "". */
bool gates_virtual(const char *root, char *name, size_t size);

/* "0-3,8" of the CPUs whose element is `value`, cut to size. */
void gates_cpu_list(const int *of_cpu, unsigned int ncpu, int value, char *buf, size_t size);

#endif

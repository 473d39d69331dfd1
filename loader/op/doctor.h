/* SPDX-License-Identifier: BSD-2-Clause */
/* What the doctor reads in files: who else uses perf, and whether this is a virtual machine. */
#ifndef PMCBPF_GATES_H
#define PMCBPF_GATES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "loader/policy/policy.h"

struct perf_user {
	pid_t pid;
	char name[17];
};

/*
 * Processes below `proc` (/proc) other than `self` that have a perf event open.  Fills at most max;
 * *all is false when there were more, or more descriptors than a request should look at.
 */
unsigned int doctor_perf_users(const char *proc, pid_t self, struct perf_user *users,
			      unsigned int max, bool *all);

/* True in a virtual machine, whose name goes to `name` ("" if it tells none).  `root` is "". */
bool doctor_virtual(const char *root, char *name, size_t size);

/* What decides whether the caller's logs have the kernel's names. */
struct kernel_shown {
	int err;			/* of ksyms_start() in the daemon */
	bool syslog;			/* the daemon has CAP_SYSLOG */
	struct kernel_settings settings;
	enum kernel_view view;		/* of the caller */
};
/*
 * The finding, cut to size, and a constant string that names what would change it, "" where nothing
 * need be.  True: the logs have addresses and names.
 */
bool doctor_kernel_names(const struct kernel_shown *k, char *finding, size_t size,
			const char **remedy);

/* "0-3,8" of the CPUs whose element is `value`, cut to size. */
void doctor_cpu_list(const int *of_cpu, unsigned int ncpu, int value, char *buf, size_t size);

#endif

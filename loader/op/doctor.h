/* SPDX-License-Identifier: BSD-2-Clause */
/* Files behind GATES: other users of perf, virtual machines, names of the kernel. */
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
 * Processes in `proc` (/proc) other than `self` that have a perf event open, at most max.  *all is
 * false if there are more, or more descriptors than a request has time for.
 */
unsigned int doctor_perf_users(const char *proc, pid_t self, struct perf_user *users,
			      unsigned int max, bool *all);

/* True in a virtual machine; `name`: its name, or "".  `root` is "", but for tests. */
bool doctor_virtual(const char *root, char *name, size_t size);

/* The conditions of the kernel's names in the caller's logs. */
struct kernel_shown {
	int err;			/* of ksyms_start() in the daemon */
	bool syslog;			/* the daemon has CAP_SYSLOG */
	struct kernel_settings settings;
	enum kernel_view view;		/* of the caller */
};
/*
 * The finding, cut to size, and a constant string with a remedy, "" if none is needed.  True: the
 * logs have addresses and names.
 */
bool doctor_kernel_names(const struct kernel_shown *k, char *finding, size_t size,
			const char **remedy);

/* "0-3,8": the CPUs with this value, cut to size. */
void doctor_cpu_list(const int *of_cpu, unsigned int ncpu, int value, char *buf, size_t size);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* See level.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "level.h"

#define INITIAL_PID_NS 0xeffffffcu	/* the kernel's PROC_PID_INIT_INO */

int level_nested(struct reason *why)
{
	char self[16] = "";
	struct stat st;

	if (stat("/proc/self/ns/pid", &st))
		return deny(why, -EINVAL, "cannot look at /proc/self/ns/pid: %m; is /proc "
			    "mounted?");
	if (readlink("/proc/self", self, sizeof(self) - 1) < 0 || atoi(self) != getpid())
		return deny(why, -EINVAL, "/proc is of another PID namespace, where this process "
			    "is %s and not %d: mount the one of this (unshare --mount-proc)",
			    self, (int)getpid());
	return st.st_ino != INITIAL_PID_NS;
}

int level_learn(int program, struct reason *why)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	int err = bpf_prog_test_run_opts(program, &opts);

	return err ? deny(why, err, "cannot learn the PID namespace: %s", strerror(-err)) : 0;
}

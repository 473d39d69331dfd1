/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <err.h>

#include "frames.skel.h"
#include "frames_kernel.h"

static struct frames_bpf *skel;

void frames_kernel_begin(pid_t pid, const struct python_process *p)
{
	const __u32 tgid = (__u32)pid;

	skel = frames_bpf__open_and_load();
	if (!skel || bpf_map_update_elem(bpf_map__fd(skel->maps.interpreters), &tgid, p, 0) ||
	    frames_bpf__attach(skel))
		err(2, "the kernel's program");
}

const struct frames_taken *frames_kernel_taken(pid_t tid)
{
	static struct frames_taken taken;

	if (bpf_map_lookup_elem(bpf_map__fd(skel->maps.threads), &tid, &taken))
		err(1, "thread %d has made no system call", tid);
	return &taken;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The daemon runs this on a CPU to run flush_poked() of switch.bpf.c there, which is attached to
 * it; in an object of its own, because it must be loaded before flush_poked().
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("raw_tp")
int poke(void *ctx)
{
	return 0;
}

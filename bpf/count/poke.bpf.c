// SPDX-License-Identifier: GPL-2.0
/*
 * Run by the daemon on a CPU so that flush_poked() of switch.bpf.c is, which hooks onto it; an
 * object of its own, because that wants to know it when it is loaded.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "GPL";

SEC("raw_tp")
int poke(void *ctx)
{
	return 0;
}

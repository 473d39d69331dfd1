// SPDX-License-Identifier: GPL-2.0
/* What the cheapest program at a context switch costs: the kernel's own share of ours. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

int on_switch(void *ctx);

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_switch")
int on_switch(void *ctx)
{
	return 0;
}

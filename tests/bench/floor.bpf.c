// SPDX-License-Identifier: GPL-2.0
/* The cheapest programs where ours run: the kernel's own share of our cost. */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

int on_switch(void *ctx);
int on_call(void *ctx);
int on_return(void *ctx);

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sched_switch")
int on_switch(void *ctx)
{
	return 0;
}

SEC("raw_tp/sys_enter")
int on_call(void *ctx)
{
	return 0;
}

SEC("raw_tp/sys_exit")
int on_return(void *ctx)
{
	return 0;
}

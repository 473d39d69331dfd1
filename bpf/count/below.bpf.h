/* SPDX-License-Identifier: GPL-2.0 */
/* Records new threads' numbers in PID namespaces below the daemon's, for logs of clients there. */
#ifndef PMCBPF_BELOW_BPF_H
#define PMCBPF_BELOW_BPF_H

#include "maps.bpf.h"

/* Not 0 while a log needs numbers of namespaces below the daemon's. */
__u32 watch_numbers = 0;
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, ABI_MAX_NUMBERS);
	__type(key, u32);
	__type(value, struct abi_number);
} numbers SEC(".maps");

/* Also removes the entry of an earlier thread with this number. */
static __always_inline void note_numbers(struct task_struct *child)
{
	struct abi_number n = { .start = BPF_CORE_READ(child, start_time) };
	struct pid *pid = BPF_CORE_READ(child, thread_pid);
	u32 key = task_thread(child), depth = BPF_CORE_READ(pid, level);
	struct upid *at;

	if (!key)
		return;
	if (depth <= level.depth) {
		bpf_map_delete_elem(&numbers, &key);
		return;
	}
	for (u32 i = 0; i < ABI_LEVELS; i++) {
		if (level.depth + 1 + i > depth)
			break;
		at = pid_at(pid, level.depth + 1 + i);
		n.nr[i] = BPF_CORE_READ(at, nr);
		n.inum[i] = BPF_CORE_READ(at, ns, ns.inum);
	}
	bpf_map_update_elem(&numbers, &key, &n, BPF_ANY);
}

#endif

// SPDX-License-Identifier: GPL-2.0
/*
 * Migrations of threads to other CPUs.  The kernel reports each on the CPU of the process that
 * wakes the thread, or of the scheduler that pulls it, so that no slice contains it.
 */
#include "alone.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Adds 1 to a PMC that counts one thread alone, if that is the one. */
__noinline int migrate_add_alone(u32 owner, u32 pos, u32 tid, u64 task)
{
	return alone_has(owner, pos, tid, task) ? counts_add(owner, pos, 1) : 0;
}

/* Each PMC of the process's set that counts migrations. */
__noinline int migrate_count(u32 set, u32 tid, u64 task)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	for (u32 row = 0; s && row < ABI_SOFT_ROWS; row++) {
		if (!(s->migrations >> row & 1))
			continue;
		if (s->alone_rows >> row & 1)
			migrate_add_alone(s->soft[row].owner, s->soft[row].pos, tid, task);
		else
			counts_add(s->soft[row].owner, s->soft[row].pos, 1);
	}
	return 0;
}

/* The kernel reports a move to the same CPU as well, but does not count it. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *task, int to)
{
	u32 set;

	if (task->thread_info.cpu == (u32)to)
		return 0;
	set = index_lookup(task_process(task));
	return set ? migrate_count(set, task->pid, address_number(task)) : 0;
}

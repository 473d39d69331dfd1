// SPDX-License-Identifier: GPL-2.0
/*
 * Threads' shares that end before their thread: at an exec, and when their PMC stops; and PMCs of
 * single threads, when a thread gets another number or another thread its number.
 */
#include "alone.bpf.h"
#include "bpf/log/offcpu.bpf.h"
#include "slice_log.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct sampled_threads_map sampled_threads SEC(".maps");

extern int slice_end(u32 from, u32 to);

/* The thread that executes a program has its process's number from here on. */
__noinline int thread_renumber(u32 set)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	return s && s->threads ? slice_end(set, set) : 0;
}

/* Not static, so that the verifier checks them once. */
__noinline int sampled_change(u32 log, u32 from, u32 to, u64 task)
{
	u32 at = log % ABI_SAMPLERS;
	struct abi_alone *a = bpf_map_lookup_elem(&sampled_threads, &at);

	if (a)
		alone_change(a, from, to, task);
	return 0;
}

__noinline int waited_change(u32 place, u32 from, u32 to, u64 task)
{
	struct abi_offcpu *p = offcpu_at(place);

	if (p)
		alone_change(&p->alone, from, to, task);
	return 0;
}

/* Of a member, or of a PMC on a SOFT row. */
__noinline int counted_change(u32 owner, u32 pos, u32 from, u32 to, u64 task)
{
	struct abi_alone *a;

	if (pos == ABI_SOFT_WAITS)
		return waited_change(owner, from, to, task);
	a = alone_of(owner, pos);
	if (a)
		alone_change(a, from, to, task);
	return 0;
}

/*
 * PMCs of a process's thread `from` alone are of `to` from now on.  Those of an earlier thread at
 * the address `task` have lost it: a new thread has that now; 0: there is none.
 */
__noinline int thread_change(u32 set, u32 from, u32 to, u64 task)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	u32 on = s ? s->sampled | s->alone : 0, rows = s ? s->alone_rows : 0;

	for (u32 i = 0; s && i < ABI_MAX_MEMBERS && on >> i; i++) {
		if (s->sampled >> i & 1)
			sampled_change(s->log[i], from, to, task);
		if (s->alone >> i & 1)
			counted_change(s->member[i].owner, s->member[i].pos, from, to, task);
	}
	for (u32 row = 0; s && row < ABI_SOFT_ROWS && rows >> row; row++)
		if (rows >> row & 1)
			counted_change(s->soft[row].owner, s->soft[row].pos, from, to, task);
	return 0;
}

/* --- the daemon's programs ------------------------------------------------------------------- */

struct abi_alone_at alone_at = {};

__noinline int alone_bind(u32 tid, u64 task)
{
	u32 key = alone_at.key;
	struct abi_offcpu *waits;
	struct abi_alone *a;

	if (alone_at.kind == ABI_ALONE_WAITS) {
		waits = offcpu_at(key);
		return waits && alone_admits(&waits->alone, tid, task);
	}
	if (alone_at.kind == ABI_ALONE_HITS)
		a = bpf_map_lookup_elem(&sampled_threads, &key);
	else
		a = bpf_map_lookup_elem(&alone_threads, &key);
	return a && alone_admits(a, tid, task);
}

/* Visits a PMC's only thread, so that an exec right afterwards changes no more than its number. */
SEC("iter/task")
int bind_thread(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task)
		alone_bind(task->pid, address_number(task));
	return 0;
}

struct threads_end {
	u32 log, owner, n;
};

static long threads_end(void *map, struct abi_share *key, struct abi_thread_share *share,
			struct threads_end *e)
{
	if (key->log != e->log)
		return 0;
	e->n += (u32)thread_end(e->owner, key->tgid, e->log);
	return e->n >= ABI_THREAD_BATCH;
}

/* Run by the daemon: (number of a logged PMC, its owner); returns the number of ended shares. */
SEC("raw_tp")
int threads_log(unsigned long long *ctx)
{
	struct threads_end e = { .log = ctx[0], .owner = ctx[1] };

	bpf_for_each_map_elem(&thread_shares, threads_end, &e, 0);
	return e.n;
}

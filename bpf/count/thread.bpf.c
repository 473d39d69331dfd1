// SPDX-License-Identifier: GPL-2.0
/*
 * Threads' shares that end before their thread: at an exec, and when their PMC stops; and PMCs of
 * single threads, when a thread gets another number or another thread its number.
 */
#include "alone.bpf.h"
#include "slice_log.bpf.h"

char LICENSE[] SEC("license") = "GPL";

extern int slice_end(u32 from, u32 to);

/* The thread that executes a program has its process's number from here on. */
__noinline int thread_renumber(u32 set)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	return s && s->threads ? slice_end(set, set) : 0;
}

/* Where the only thread of a PMC is noted: see struct abi_alone_at. */
static __always_inline struct abi_alone *alone_find(u32 sampled, u32 key)
{
	return sampled ? bpf_map_lookup_elem(&sampled_threads, &key) :
			 bpf_map_lookup_elem(&alone_threads, &key);
}

/* Not static, so that the verifier checks it once. */
__noinline int alone_renumber(u32 sampled, u32 key, u32 from, u32 to, u64 task)
{
	struct abi_alone *a = alone_find(sampled, key);

	if (a)
		alone_change(a, from, to, task);
	return 0;
}

/* Likewise, of a PMC on a SOFT row. */
__noinline int alone_renumber_row(const struct abi_soft *pmc, u32 sampled, u32 from, u32 to,
				  u64 task)
{
	if (!pmc)
		return 0;
	return sampled ? alone_renumber(1, pmc->pos % ABI_SAMPLERS, from, to, task) :
			 alone_renumber(0, ABI_ALONE(pmc->owner, pmc->pos), from, to, task);
}

/*
 * PMCs of a process's thread `from` alone are of `to` from now on.  Those of an earlier thread at
 * the address `task` have lost it: a new thread has that now; 0: there is none.
 */
__noinline int thread_change(u32 set, u32 from, u32 to, u64 task)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	u32 on = s ? s->sampled | s->alone : 0, rows = s ? s->sampled_rows | s->alone_rows : 0;

	for (u32 i = 0; s && i < ABI_MAX_MEMBERS && on >> i; i++) {
		if (s->sampled >> i & 1)
			alone_renumber(1, s->log[i] % ABI_SAMPLERS, from, to, task);
		if (s->alone >> i & 1)
			alone_renumber(0, ABI_ALONE(s->member[i].owner, s->member[i].pos), from, to,
				       task);
	}
	for (u32 row = 0; s && row < ABI_SOFT_ROWS && rows >> row; row++)
		if (rows >> row & 1)
			alone_renumber_row(&s->soft[row], s->sampled_rows >> row & 1, from, to,
					   task);
	return 0;
}

/* --- the daemon's programs ------------------------------------------------------------------- */

struct abi_alone_at alone_at = {};

__noinline int alone_bind(u32 tid, u64 task)
{
	struct abi_alone *a = alone_find(alone_at.sampled, alone_at.key);

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

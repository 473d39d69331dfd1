// SPDX-License-Identifier: GPL-2.0
/*
 * Threads' shares that end before their thread: at an exec, and when their PMC stops; and PMCs that
 * sample the hits of single threads.
 */
#include "slice_log.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct sampled_threads_map sampled_threads SEC(".maps");

extern int slice_end(u32 from, u32 to);

/* The thread that executes a program has its process's number from here on. */
__noinline int thread_renumber(u32 set)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	return s && s->logs ? slice_end(set, set) : 0;
}

/* PMCs that sample the hits of a process's thread `from` alone sample those of `to` from now on. */
__noinline int thread_sampled(u32 set, u32 from, u32 to)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	u32 on = s ? s->sampled : 0, at, *thread;

	for (u32 i = 0; s && i < ABI_MAX_MEMBERS && on >> i; i++) {
		if (!(on >> i & 1))
			continue;
		at = s->log[i] % ABI_SAMPLERS;
		thread = bpf_map_lookup_elem(&sampled_threads, &at);
		if (thread && *thread == from)
			*thread = to;
	}
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

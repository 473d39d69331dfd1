// SPDX-License-Identifier: GPL-2.0
/* Threads' shares that end before their thread: at an exec, and when their PMC stops. */
#include "slice_log.bpf.h"

char LICENSE[] SEC("license") = "GPL";

extern int slice_end(u32 from, u32 to);

/* The thread that executes a program has its process's number from here on. */
__noinline int thread_renumber(u32 set)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	return s && s->logs ? slice_end(set, set) : 0;
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

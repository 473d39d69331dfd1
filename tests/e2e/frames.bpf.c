// SPDX-License-Identifier: GPL-2.0
/* The product's walk over Python's frames, in the kernel, at each system call of a process. */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#define PYTHON_READ(arg, to, size, address) bpf_probe_read_user(to, size, (void *)(address))
#include "bpf/python/python.bpf.h"
#include "tests/e2e/frames_abi.h"

char LICENSE[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, u32);
	__type(value, struct python_process);
} interpreters SEC(".maps");

struct scratch {
	struct python_search search;
	struct python_walk walk;
	struct frames_taken taken;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/* By thread: the frames at its last system call. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 256);
	__type(key, u32);
	__type(value, struct frames_taken);
} threads SEC(".maps");

struct pointers {
	struct scratch *s;
	const struct python_process *p;
};

static long search_step(u32 i, struct pointers *p)
{
	p->s->taken.step = python_search_step(&p->s->search, p->p, NULL);
	return p->s->taken.step != PYTHON_GO;
}

static long walk_step(u32 i, struct pointers *p)
{
	struct frames_taken *t = &p->s->taken;
	u32 n = t->n;

	if (n >= FRAMES_ROOM)
		return 1;
	t->step = python_walk_step(&p->s->walk, p->p, &t->frame[n], NULL);
	if (t->step != PYTHON_GO)
		return 1;
	t->n = n + 1;
	return 0;
}

SEC("raw_tp/sys_enter")
int on_call(void *ctx)
{
	u64 id = bpf_get_current_pid_tgid(), begin = bpf_ktime_get_ns();
	u32 zero = 0, tgid = id >> 32, tid = (u32)id;
	struct scratch *s = bpf_map_lookup_elem(&scratch, &zero);
	struct pointers p = { .s = s, .p = bpf_map_lookup_elem(&interpreters, &tgid) };

	if (!s || !p.p)
		return 0;
	s->taken.n = 0;
	s->taken.step = python_search_begin(&s->search, p.p, tid, NULL);
	if (s->taken.step == PYTHON_GO)
		bpf_loop(1024, search_step, &p, 0);
	if (s->taken.step == PYTHON_END)
		s->taken.step = python_walk_begin(&s->walk, p.p, s->search.found, NULL);
	if (s->taken.step == PYTHON_GO)
		bpf_loop(FRAMES_ROOM, walk_step, &p, 0);
	s->taken.ns = bpf_ktime_get_ns() - begin;
	bpf_map_update_elem(&threads, &tid, &s->taken, 0);
	return 0;
}

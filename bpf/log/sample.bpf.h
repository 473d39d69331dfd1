/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Takes one sample: a record with the address and on request the call chain of the interrupted
 * side, or of both, in the ring of this CPU.
 */
#ifndef PMCBPF_SAMPLE_BPF_H
#define PMCBPF_SAMPLE_BPF_H

#include "vmlinux/vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "bpf/unwind/walk.bpf.h"
#include "number.bpf.h"
#include "ring.bpf.h"

/* The daemon maps it; an id's place is id % ABI_SAMPLERS. */
struct samplers_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, ABI_SAMPLERS);
	__type(key, u32);
	__type(value, struct abi_sampler);
};
extern struct samplers_map samplers SEC(".maps");
/* kernel.perf_event_max_stack, which cannot change while a program is loaded. */
extern const volatile __u32 max_stack;

#define MAX_BYTES (2 * ABI_CHAIN_MAX * 8)

/* Each side has room for one address more than is kept. */
struct scratch {
	struct abi_rec rec;
	__u64 pc[2 * ABI_CHAIN_MAX + 1];
};
_Static_assert(2 * ABI_CHAIN_MAX + 1 == WALK_ROOM, "the walk's room");

/* Values of a sample, which go into the ring before it. */
struct values_scratch {
	struct abi_rec rec;
	struct abi_values v;
};

/* 1 if a < b, else 0: without a branch, which the verifier would follow both ways from here on. */
static __always_inline u64 is_less(u64 a, u64 b)
{
	s64 less = (s64)(a - b);

	barrier_var(less);
	return (u64)less >> 63;
}

/*
 * Reads one side; *cut: callers are missing.  To find out, it requests one address more than
 * needed.  If the kernel itself ends a chain, it does not report whether that was the last caller.
 */
static __always_inline u64 chain(void *ctx, void *to, u32 depth, u64 flags, bool *cut)
{
	u64 want = (u64)depth + 1, got, failed, more;
	long n;

	*cut = false;
	if (flags & BPF_F_USER_STACK && !walk_has_registers(bpf_get_current_task_btf()))
		return 0;
	/* Compared right before its use: Linux 6.1 loses the bound across branches. */
	barrier_var(want);
	if (want > ABI_CHAIN_MAX + 1)
		want = ABI_CHAIN_MAX + 1;
	n = bpf_get_stack(ctx, to, want * 8, flags);
	failed = is_less((u64)n, 0);
	got = ((u64)n & (failed - 1)) / 8;
	more = is_less(depth, got);
	*cut = failed | more | (is_less(got, max_stack) ^ 1);
	return got - more;
}

/* A program that takes samples in a loop defines a global function, which is verified once. */
#ifndef SAMPLE_WALK
#define SAMPLE_WALK(walk, s, n, room) walk_user(walk, (s)->pc, n, room, (s)->rec.pid)
#endif

/* Puts a copy of the stack into the ring, for the daemon to go on with the walk.  False: none. */
#ifndef SAMPLE_STACK
#define SAMPLE_STACK(walk) false
#endif

/* Puts the Python frames of the chain into the ring, if the program does so.  False: no room. */
#ifndef SAMPLE_PYTHON
#define SAMPLE_PYTHON(walk) true
#endif

/* Puts the user's side behind n addresses; returns how many there are then. */
static __always_inline u32 sample_user(void *ctx, struct scratch *s, struct walk *walk,
				       const struct abi_sampler *of, u32 n, bool *cut)
{
	if (walk && of->unwind) {
		SAMPLE_WALK(walk, s, n, of->depth);
		s->rec.end = walk->end;
		s->rec.pointers = walk->pointers;
		return walk->n;
	}
	barrier_var(n);
	if (n > ABI_CHAIN_MAX)
		n = ABI_CHAIN_MAX;
	return n + chain(ctx, s->pc + n, of->depth, BPF_F_USER_STACK, cut);
}

/* The same number, of which the verifier knows nothing: the ways to it are one from here on. */
static __always_inline u32 number_forget(struct scratch *s, u32 n)
{
	*(volatile u16 *)&s->rec.n = n;
	return *(volatile u16 *)&s->rec.n;
}

/* Fills in the record's addresses; the kernel's begin behind `skip` frames. */
static __always_inline u32 sample_fill(void *ctx, u64 ip, u64 skip, struct scratch *s,
				       struct walk *walk, const struct abi_sampler *of)
{
	bool user = !(ip >> 63), cut = false;
	u32 depth = of->depth, n = 0;

	s->pc[0] = !user && of->hides_kernel ? ABI_PC_KERNEL : ip;
	if (!depth)
		return 1;
	if (!user) {
		if (!of->hides_kernel)
			n = chain(ctx, s->pc, depth, skip & 0xff, &cut);
		n = n ?: 1;
	}
	if (!user && of->both_sides) {
		s->rec.flags |= cut * ABI_REC_CUT_INSIDE;
		cut = false;
	}
	n = number_forget(s, n);
	if (user || of->both_sides)
		n = number_forget(s, sample_user(ctx, s, walk, of, n, &cut));
	/* Hardware, or a probe's place, may be more exact than the registers are. */
	if (user || !of->hides_kernel)
		s->pc[0] = ip;
	s->rec.flags |= cut * ABI_REC_CUT;
	return n ?: 1;
}

/* The PMC of that id; NULL: it was released before. */
static __always_inline struct abi_sampler *sampler_of(u32 id)
{
	u32 at = id % ABI_SAMPLERS;
	struct abi_sampler *s = bpf_map_lookup_elem(&samplers, &at);

	return s && id && s->id == id ? s : NULL;
}

/* Stores the sampled thread's numbers; the idle task is 0 in every namespace. */
static __always_inline void put_numbers(struct abi_rec *rec)
{
	u64 id = bpf_get_current_pid_tgid();
	struct task_struct *task;

	rec->pid = id >> 32;
	rec->tid = (u32)id;
	if (!nested || !rec->tid)
		return;
	task = (void *)bpf_get_current_task();
	rec->pid = task_process_nested(task);
	rec->tid = task_thread(task);
	if (!rec->pid || !rec->tid)
		rec->pid = rec->tid = ABI_PID_OUTSIDE;
}

static __always_inline bool sample_values_output(void *ring, const struct abi_rec *rec,
						 struct values_scratch *v, u32 bytes)
{
	v->rec = *rec;
	v->rec.kind = ABI_REC_VALUES;
	v->rec.n = bytes / 8;
	return ring_output(ring, v, sizeof(v->rec) + bytes);
}

/*
 * `ctx`: of a program that may take stacks; `ip`: the sampled address, before which the kernel's
 * stack has `skip` frames; `v`: values of so many bytes, or none.
 */
static __always_inline void sample_put(void *ctx, u64 ip, u64 skip, struct scratch *s,
				       struct walk *walk, struct abi_sampler *of, u32 pmc,
				       struct values_scratch *v, u32 value_bytes)
{
	u32 cpu = bpf_get_smp_processor_id(), n, bytes;
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	bool goes_on;

	if (!ring)
		return;
	s->rec.time = bpf_ktime_get_ns();
	s->rec.kind = ABI_REC_SAMPLE;
	s->rec.cpu = cpu;
	s->rec.flags = ip >> 63 ? 0 : ABI_REC_USER;
	s->rec.pmc = pmc & ~ABI_SAMPLER_ON;
	put_numbers(&s->rec);
	s->rec.end = s->rec.pointers = 0;
	s->rec.reserved = 0;
	if (value_bytes && !sample_values_output(ring, &s->rec, v, value_bytes)) {
		__sync_fetch_and_add(&of->count.dropped, 1);
		return;
	}
	n = sample_fill(ctx, ip, skip, s, walk, of);
	s->rec.n = n;
	goes_on = walk && s->rec.end == UNWIND_CUT_TABLE && SAMPLE_STACK(walk);
	if (walk && s->rec.end && (walk->python || goes_on) && !SAMPLE_PYTHON(walk)) {
		__sync_fetch_and_add(&of->count.dropped, 1);
		return;
	}
	bytes = n * 8;
	if (bytes > MAX_BYTES)
		bytes = MAX_BYTES;
	if (!ring_output(ring, s, sizeof(s->rec) + bytes))
		__sync_fetch_and_add(&of->count.dropped, 1);
}

#endif

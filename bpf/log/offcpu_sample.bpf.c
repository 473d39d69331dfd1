// SPDX-License-Identifier: GPL-2.0
/*
 * Records waits that are samples: bpf/count/offcpu.bpf.c has put them aside at the switch to the
 * thread, and this program runs in the thread itself, still inside the scheduler.  A new thread has
 * no such moment on some kernels; its first wait is recorded after the next switch, without callers
 * in user space.
 */
#include "vmlinux/vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "offcpu.bpf.h"
#include "python_sample.bpf.h"
#include "sample.bpf.h"
#include "stack.bpf.h"

struct offcpus_map offcpus SEC(".maps");
struct offcpu_waits_map offcpu_waits SEC(".maps");
struct offcpu_wakers_map offcpu_wakers SEC(".maps");

/* The two ways to the program's side of a chain: struct abi_sampler's `unwind`. */
enum wait_way {
	WAIT_POINTERS,
	WAIT_TABLES,
	WAIT_WAYS
};
struct wait_scratch {
	struct {
		struct abi_rec rec;
		__u64 word[ABI_OFFCPU_WORDS];
		__u64 pc[ABI_OFFCPU_KERNEL + ABI_CHAIN_MAX];
	} out;
	/* The side of the program, for all PMCs of one way that the wait is a sample of. */
	u32 nuser, cut;
	u32 python;			/* … and whether it has Python frames */
	__u8 end, pointers;		/* struct abi_rec's */
	struct walk walk;
	__u64 user[WALK_ROOM];
};
/*
 * One per CPU: no switch and no other program of waits comes before the end of this one.  The
 * second is for waits that have not ended.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct wait_scratch);
} wait_scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_scratch);
} wait_stacks SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct python_scratch);
} wait_pythons SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct code_scratch);
} wait_codes SEC(".maps");

#define WORDS_MAX (ABI_OFFCPU_WORDS + ABI_OFFCPU_KERNEL + ABI_CHAIN_MAX)

/* The kernel's side: at least one address. */
static __always_inline u32 wait_kernel(struct wait_scratch *s, const struct abi_offcpu_wait *w,
				       const struct abi_sampler *of)
{
	u32 depth = of->depth ?: 1, n = w->nkernel;

	if (of->hides_kernel || !n) {
		s->out.pc[0] = ABI_PC_KERNEL;
		return 1;
	}
	if (of->depth && (n > depth || n > ABI_OFFCPU_KERNEL))
		s->out.rec.flags |= of->both_sides ? ABI_REC_CUT_INSIDE : ABI_REC_CUT;
	if (n > depth)
		n = depth;
	barrier_var(n);
	if (n > ABI_OFFCPU_KERNEL)
		n = ABI_OFFCPU_KERNEL;
	bpf_probe_read_kernel(s->out.pc, n * 8, w->kernel);
	return n;
}

/* Adds the program's side behind n addresses. */
static __always_inline u32 wait_user(struct wait_scratch *s, u32 n, const struct abi_sampler *of)
{
	u32 more = s->nuser;

	if (s->cut || more > of->depth)
		s->out.rec.flags |= ABI_REC_CUT;
	s->out.rec.end = s->end && more > of->depth ? UNWIND_CUT_DEPTH : s->end;
	s->out.rec.pointers = s->pointers;
	if (more > of->depth)
		more = of->depth;
	barrier_var(n);
	barrier_var(more);
	if (n > ABI_OFFCPU_KERNEL || more > ABI_CHAIN_MAX)
		return n;
	bpf_probe_read_kernel(s->out.pc + n, more * 8, s->user);
	return n + more;
}

static __always_inline bool wait_output(struct wait_scratch *s, u32 cpu)
{
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	u32 n = s->out.rec.n;

	if (n > WORDS_MAX)
		n = WORDS_MAX;
	return ring && ring_output(ring, &s->out, sizeof(s->out.rec) + n * 8);
}

/* Copies the stack of a wait whose walk has come to no table, for `room` more callers. */
__noinline int wait_stack(u32 room)
{
	u32 zero = 0, cpu = bpf_get_smp_processor_id();
	struct wait_scratch *s = bpf_map_lookup_elem(&wait_scratch, &zero);
	struct stack_scratch *to = bpf_map_lookup_elem(&wait_stacks, &zero);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (s && to && ring)
		stack_put(ring, &s->out.rec, &s->walk, room, to);
	return 0;
}

/* The Python frames of a record whose program's side begins at `first`.  False: no room. */
static __always_inline bool wait_python_output(struct wait_scratch *s, u32 cpu, u32 first)
{
	u32 zero = 0;
	struct python_scratch *python = bpf_map_lookup_elem(&wait_pythons, &zero);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	u32 n = s->out.rec.n - ABI_OFFCPU_WORDS;

	if (!s->python || !s->out.rec.end || !python || !ring || n <= first)
		return true;
	return python_output(python, ring, &s->walk, &s->out.rec, first, n - first);
}

/*
 * Records the waker: only in the thread itself, which nothing wakes meanwhile.  A thread may be
 * woken before it has left its CPU: the latest wake-up since it came there is the one.  Without a
 * record the waker is not known.  0: no room.
 */
__noinline int wait_put_waker(u32 slot)
{
	u32 zero = 0, cpu = bpf_get_smp_processor_id(), bytes;
	struct wait_scratch *s = bpf_map_lookup_elem(&wait_scratch, &zero);
	struct abi_offcpu_waits *waits = bpf_map_lookup_elem(&offcpu_waits, &zero);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	struct waker_state *state;
	struct abi_offcpu_wait *w;
	u64 key = bpf_get_current_task();

	if (!waits || !s || !ring || slot >= ABI_OFFCPU_SLOTS)
		return 1;
	w = &waits->slot[slot];
	state = w->task == key ? bpf_map_lookup_elem(&offcpu_wakers, &key) : NULL;
	if (!state || state->w.time < w->on || state->w.time > w->in)
		return 1;
	bytes = state->w.n * 8;
	if (bytes > sizeof(state->w.pc))
		return 1;
	state->rec = s->out.rec;
	state->rec.kind = ABI_REC_WAKER;
	state->rec.n = (ABI_WAKER_HEAD + bytes) / 8;
	return ring_output(ring, state, sizeof(state->rec) + ABI_WAKER_HEAD + bytes);
}

/* Neither inlined nor static, so that the verifier checks it once: records a wait for one PMC. */
__noinline int wait_put(u32 slot, u32 place, u32 way)
{
	u32 zero = 0, own = slot == ABI_OFFCPU_OPEN, cpu = bpf_get_smp_processor_id(), n, first;
	struct wait_scratch *s = bpf_map_lookup_elem(&wait_scratch, &own);
	struct abi_offcpu_waits *waits = bpf_map_lookup_elem(&offcpu_waits, &zero);
	struct abi_offcpu *p = offcpu_at(place);
	struct abi_offcpu_wait *w;
	struct abi_sampler *of;
	u64 ns;

	/* Compared right before its use: Linux 6.1 loses the bound. */
	barrier_var(slot);
	if (!waits || !s || !p || slot > ABI_OFFCPU_OPEN)
		return 0;
	w = &waits->slot[slot];
	ns = w->open ? w->in - w->out : offcpu_part(p, w->out, w->in);
	of = sampler_of(p->sampler);
	/* The PMC has been stopped, or is another one by now. */
	if (!ns || !of || !of->unwind == (way == WAIT_TABLES))
		return 0;
	s->out.rec = (struct abi_rec){
		.time = bpf_ktime_get_ns(), .kind = ABI_REC_OFFCPU, .cpu = cpu,
		.pmc = p->sampler & ~ABI_SAMPLER_ON, .pid = w->pid, .tid = w->tid,
	};
	s->out.word[ABI_OFFCPU_NS] = ns;
	s->out.word[ABI_OFFCPU_RUN] = w->run < ns ? w->run : ns;
	s->out.word[ABI_OFFCPU_REASON] = w->reason;
	n = first = wait_kernel(s, w, of);
	if (of->both_sides)
		n = wait_user(s, n, of);
	s->out.rec.n = ABI_OFFCPU_WORDS + n;
	if (s->out.rec.end == UNWIND_CUT_TABLE)
		wait_stack(of->depth - s->nuser);
	__sync_fetch_and_add(&of->count.samples, 1);
	if (wait_python_output(s, cpu, first) && (!p->wakers || wait_put_waker(slot)) &&
	    wait_output(s, cpu)) {
		__sync_fetch_and_add(&p->count.sampled, 1);
		__sync_fetch_and_add(&p->count.sampled_ns, ns);
		return 0;
	}
	__sync_fetch_and_add(&of->count.dropped, 1);
	__sync_fetch_and_add(&p->count.dropped, 1);
	__sync_fetch_and_add(&p->count.dropped_ns, ns);
	return 0;
}

/* The same for one that has not ended, whose program's side cannot be read from elsewhere. */
__noinline int wait_put_open(u32 place)
{
	u32 own = 1;
	struct wait_scratch *s = bpf_map_lookup_elem(&wait_scratch, &own);

	if (!s)
		return 0;
	s->nuser = s->pointers = s->python = 0;
	s->cut = 1;
	s->end = 0;
	wait_put(ABI_OFFCPU_OPEN, place, WAIT_POINTERS);
	s->end = UNWIND_CUT_STACK;
	wait_put(ABI_OFFCPU_OPEN, place, WAIT_TABLES);
	return 0;
}

/* The same for all PMCs of a wait that has ended. */
__noinline int wait_put_all(u32 slot, u32 way)
{
	u32 zero = 0;
	struct abi_offcpu_waits *waits = bpf_map_lookup_elem(&offcpu_waits, &zero);
	struct abi_offcpu_wait *w;

	if (!waits || slot >= ABI_OFFCPU_SLOTS)
		return 0;
	w = &waits->slot[slot];
	for (u32 k = 0; k < ABI_OFFCPU_PLACES && k < w->nplaces; k++)
		wait_put(slot, w->place[k], way);
	return 0;
}

/* The most addresses of the program's side that a PMC of the wait wants in that way. */
__noinline u32 wait_depth(u32 slot, u32 way)
{
	u32 zero = 0, depth = 0;
	struct abi_offcpu_waits *waits = bpf_map_lookup_elem(&offcpu_waits, &zero);
	struct abi_offcpu_wait *w;

	if (!waits || slot >= ABI_OFFCPU_SLOTS)
		return 0;
	w = &waits->slot[slot];
	for (u32 k = 0; k < ABI_OFFCPU_PLACES && k < w->nplaces; k++) {
		struct abi_offcpu *p = offcpu_at(w->place[k]);
		struct abi_sampler *of = p ? sampler_of(p->sampler) : NULL;

		if (of && of->both_sides && !of->unwind == (way == WAIT_POINTERS) &&
		    of->depth > depth)
			depth = of->depth;
	}
	return depth;
}

/* Neither inlined nor static: the verifier checks it once. */
__noinline int wait_walk(u32 depth, u32 pid)
{
	u32 zero = 0;
	struct wait_scratch *s = bpf_map_lookup_elem(&wait_scratch, &zero);

	if (!s)
		return 0;
	walk_user(&s->walk, s->user, 0, depth, pid);
	s->nuser = s->walk.n;
	s->end = s->walk.end;
	s->pointers = s->walk.pointers;
	return 0;
}

/* Likewise. */
__noinline int wait_python(u32 pid, u32 tid)
{
	u32 zero = 0, cpu = bpf_get_smp_processor_id();
	struct wait_scratch *s = bpf_map_lookup_elem(&wait_scratch, &zero);
	struct python_scratch *python = bpf_map_lookup_elem(&wait_pythons, &zero);
	struct code_scratch *code = bpf_map_lookup_elem(&wait_codes, &zero);
	void *ring = bpf_map_lookup_elem(&rings, &cpu);

	if (!s || !python || !code || !ring)
		return 0;
	s->out.rec = (struct abi_rec){
		.time = bpf_ktime_get_ns(), .cpu = cpu, .pid = pid, .tid = tid,
	};
	s->python = python_take(python, code, ring, &s->walk, &s->out.rec);
	return 0;
}

/* Takes the program's side, if this is the thread that has waited. */
static __always_inline void wait_take_user(void *ctx, struct wait_scratch *s,
					   const struct abi_offcpu_wait *w, u32 slot, u32 way)
{
	u32 depth = w->kernel_thread ? 0 : wait_depth(slot, way);
	bool here = w->task == (u64)bpf_get_current_task(), cut = false;

	s->nuser = s->cut = s->end = s->pointers = s->python = 0;
	if (depth && here && way == WAIT_TABLES) {
		wait_walk(depth, w->pid);
		if (s->end && (s->walk.python || s->end == UNWIND_CUT_TABLE))
			wait_python(w->pid, w->tid);
	} else if (depth && here) {
		s->nuser = chain(ctx, s->user, depth, BPF_F_USER_STACK, &cut);
	}
	s->cut = cut || (depth && !here);
}

static __always_inline int waits_put(void *ctx)
{
	u32 zero = 0;
	struct abi_offcpu_waits *waits = bpf_map_lookup_elem(&offcpu_waits, &zero);
	struct wait_scratch *s;

	/* Slots are taken from the first on; after most switches none is. */
	if (!waits || !waits->slot[0].task)
		return 0;
	s = bpf_map_lookup_elem(&wait_scratch, &zero);
	if (!s)
		return 0;
	for (u32 i = 0; i < ABI_OFFCPU_SLOTS; i++) {
		struct abi_offcpu_wait *w = &waits->slot[i];

		if (!w->task)
			return 0;
		for (u32 way = 0; way < WAIT_WAYS; way++) {
			wait_take_user(ctx, s, w, i, way);
			wait_put_all(i, way);
		}
		w->nplaces = 0;
		w->task = 0;
	}
	return 0;
}

/* At the end of the scheduler's work; from Linux 6.17 on. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(on_scheduled)
{
	return waits_put(ctx);
}

/* Where it is called: while any thread has a perf event. */
SEC("fentry/__perf_event_task_sched_in")
int BPF_PROG(on_perf_in)
{
	return waits_put(ctx);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * Time off the CPUs.  A wait begins with the switch away from a thread and ends with the next
 * switch to it; this program measures each, and those of at least the PMC's threshold are samples.
 *
 * At the end of a wait the thread is not yet the current one, so that its memory cannot be read.
 * Its stack in the kernel can, and is put aside for the program that runs in the thread itself a
 * moment later (bpf/log/offcpu_sample.bpf.c).  A thread's stack does not change while it waits, so
 * nothing is read at the beginning of a wait.
 *
 * The scheduler counts each thread's switches.  If that number has moved by more than this program
 * has seen, the kernel has hidden a switch, and the length of the wait is not known.
 *
 * A thread without a state was off the CPUs already when the PMC began, or is a new one.
 */
#include "final.bpf.h"
#include "offcpu_wait.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct offcpus_map offcpus SEC(".maps");
struct offcpu_waits_map offcpu_waits SEC(".maps");
struct offcpu_entries_map offcpu_entries SEC(".maps");
struct offcpu_threads_map offcpu_threads SEC(".maps");
struct offcpu_wakers_map offcpu_wakers SEC(".maps");

const volatile bool offcpu_finals = false;	/* on_offcpu() stands in for on_final() */
__u32 offcpu_systems = 0;		/* running PMCs of system scope … */
struct abi_offcpu_cgroups offcpu_cgroups = {};	/* … and of cgroups: any thread's waits begin */
__u64 offcpu_full = 0;			/* threads that found no room for their state */

/* The samples of this second on this CPU, of each PMC since its start. */
struct second {
	u64 since;
	u32 second, n;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, ABI_OFFCPUS);
	__type(key, u32);
	__type(value, struct second);
} offcpu_seconds SEC(".maps");

/*
 * The PMCs that a thread's wait concerns: bits of SOFT rows, in its set and on this CPU; and those
 * of cgroups, which look at the thread's cgroup later.
 */
struct concerned {
	struct abi_set *set;
	struct abi_cpu *cpu;
	u32 set_rows, cpu_rows, cgroups;
};

static __always_inline struct concerned offcpu_concerned(struct abi_cpu *c,
							 struct task_struct *task)
{
	struct concerned pmcs = { .cpu = c };
	u32 set;

	/* The idle task waits for nothing. */
	if (!task->pid)
		return pmcs;
	pmcs.cpu_rows = c->offcpu;
	pmcs.cgroups = offcpu_cgroups.running;
	set = index_lookup(task_process(task));
	pmcs.set = set ? bpf_map_lookup_elem(&sets, &set) : NULL;
	pmcs.set_rows = pmcs.set ? pmcs.set->offcpu : 0;
	return pmcs;
}

/* The thread, for PMCs of one thread; 0: the set has none. */
static __always_inline u64 offcpu_thread(const struct concerned *pmcs, struct task_struct *task)
{
	return pmcs->set && pmcs->set->sampled_rows ? address_number(task) : 0;
}

/* --- beginning of a wait --------------------------------------------------------------------- */

/*
 * What is done for each PMC is neither inlined nor static: the verifier checks it once, not for
 * each row of a set and of a CPU.
 */
__noinline int offcpu_unknown_one(u32 place, u64 time, u64 task)
{
	struct abi_offcpu *p = offcpu_at(place);

	if (p && p->since <= time && offcpu_has(p, task))
		__sync_fetch_and_add(&p->count.unknown, 1);
	return 0;
}

__noinline int offcpu_unknown_set(struct abi_set *set, u64 time, u64 task)
{
	u32 rows = set ? set->offcpu : 0;

	for (u32 row = 0; row < ABI_SOFT_ROWS && rows; row++, rows >>= 1)
		if (rows & 1)
			offcpu_unknown_one(set->soft[row].owner, time, task);
	return 0;
}

__noinline int offcpu_unknown_cpu(struct abi_cpu *c, u64 time)
{
	u32 rows = c ? c->offcpu : 0;

	for (u32 row = 0; row < ABI_SOFT_ROWS && rows; row++, rows >>= 1)
		if (rows & 1)
			offcpu_unknown_one(c->offcpu_place[row], time, 0);
	return 0;
}

/* A PMC samples a wait in its cgroup if the thread is there when the wait ends. */
static __always_inline bool offcpu_cgroup_has(u32 place, u64 task)
{
	struct abi_offcpu *p = offcpu_at(place);

	return p && task_in_cgroup((void *)task, p->cgroup, p->level);
}

__noinline int offcpu_unknown_cgroups(u64 time, u64 task)
{
	u32 running = offcpu_cgroups.running;

	for (u32 i = 0; i < ABI_OFFCPU_CGROUPS && running; i++, running >>= 1)
		if (running & 1 && offcpu_cgroup_has(offcpu_cgroups.place[i], task))
			offcpu_unknown_one(offcpu_cgroups.place[i], time, 0);
	return 0;
}

__noinline int offcpu_unknown_all(struct abi_set *set, struct abi_cpu *c, u64 time, u64 task)
{
	if (set)
		offcpu_unknown_set(set, time, set->sampled_rows ? task : 0);
	offcpu_unknown_cpu(c, time);
	return offcpu_unknown_cgroups(time, task);
}

/* The wait's beginning or end was not seen: PMCs that ran at `time` count it as unknown. */
static __always_inline void offcpu_unknown(const struct concerned *pmcs, struct task_struct *task,
					   u64 time)
{
	if (task->pid)
		offcpu_unknown_all(pmcs->set, pmcs->cpu, time, address_number(task));
}

static __always_inline void thread_state_add(struct task_struct *task,
					     const struct thread_state *new)
{
	struct thread_entry *e = thread_entry(task);
	u64 key = (u64)task;

	if (e && !__sync_val_compare_and_swap(&e->task, 0, key))
		e->state = *new;
	else if (bpf_map_update_elem(&offcpu_threads, &key, new, BPF_NOEXIST))
		__sync_fetch_and_add(&offcpu_full, 1);
}

static __always_inline void thread_entry_free(struct thread_entry *e)
{
	e->state.off = 0;
	__sync_lock_test_and_set(&e->task, 0);
}

static __always_inline void thread_state_delete(struct task_struct *task)
{
	struct thread_entry *e = thread_entry(task);
	u64 key = (u64)task;

	if (e && e->task == key)
		thread_entry_free(e);
	else
		bpf_map_delete_elem(&offcpu_threads, &key);
}

static __always_inline void offcpu_begin(const struct concerned *pmcs, struct task_struct *task,
					 u32 state, u64 now)
{
	struct thread_state new = { .time = now, .off = 1, .state = state }, *t;

	new.switches = task_switches(task);
	new.run_delay = task->sched_info.run_delay;
	t = thread_state(task);
	if (!t) {
		new.on = now;
		thread_state_add(task, &new);
		return;
	}
	if (t->off)
		offcpu_unknown(pmcs, task, t->time);
	new.on = t->time;
	*t = new;
}

/* The thread has left the CPUs for good.  If it was off them before, its return was not seen. */
static __always_inline void offcpu_last(const struct concerned *pmcs, struct task_struct *task)
{
	struct thread_state *t = thread_state(task);

	if (t && t->off)
		offcpu_unknown(pmcs, task, t->time);
	thread_state_delete(task);
}

/* --- end of a wait --------------------------------------------------------------------------- */

static __always_inline bool offcpu_rate_admits(u32 place, const struct abi_offcpu *p, u64 now)
{
	struct second *s = bpf_map_lookup_elem(&offcpu_seconds, &place);
	u32 second = now / 1000000000;

	if (!s)
		return false;
	/* At this place there may have been another PMC in this second. */
	if (s->second != second || s->since != p->since) {
		s->since = p->since;
		s->second = second;
		s->n = 0;
	}
	return s->n++ < p->rate;
}

/* The first free slot of this CPU; a new thread's wait may still be in one. */
static __always_inline struct abi_offcpu_wait *offcpu_slot(void)
{
	u32 zero = 0;
	struct abi_offcpu_waits *w = bpf_map_lookup_elem(&offcpu_waits, &zero);

	for (u32 i = 0; w && i < ABI_OFFCPU_SLOTS; i++)
		if (!w->slot[i].task)
			return &w->slot[i];
	return NULL;
}

/* False: no slot is free. */
static __always_inline bool offcpu_add(u32 place)
{
	struct abi_offcpu_wait *w = offcpu_slot();
	u32 n = w ? w->nplaces : ABI_OFFCPU_PLACES;

	if (!w || n >= ABI_OFFCPU_PLACES)
		return false;
	w->place[n] = place;
	w->nplaces = n + 1;
	return true;
}

/*
 * 1: the wait is a sample, and its slot has the PMC.  `stale`: not 0 if a switch was not seen after
 * that time, which is none of this PMC's if it has begun since; then the thread was off the CPUs at
 * its beginning.
 */
__noinline int offcpu_judge(u32 place, u64 out, u64 in, u64 stale, u64 task)
{
	struct abi_offcpu *p = offcpu_at(place);
	u64 ns = p && offcpu_has(p, task) ? offcpu_part(p, out, in) : 0;

	if (!ns)
		return 0;
	if (stale && p->since <= stale) {
		__sync_fetch_and_add(&p->count.unknown, 1);
		return 0;
	}
	if (ns < p->threshold) {
		__sync_fetch_and_add(&p->count.below, 1);
		__sync_fetch_and_add(&p->count.below_ns, ns);
		return 0;
	}
	if (offcpu_rate_admits(place, p, in) && offcpu_add(place))
		return 1;
	__sync_fetch_and_add(&p->count.dropped, 1);
	__sync_fetch_and_add(&p->count.dropped_ns, ns);
	return 0;
}

/* How many PMCs of the set take the wait as a sample. */
__noinline int offcpu_judge_set(struct abi_set *set, u64 out, u64 in, u64 stale, u64 task)
{
	u32 rows = set ? set->offcpu : 0, n = 0;

	for (u32 row = 0; row < ABI_SOFT_ROWS && rows; row++, rows >>= 1)
		if (rows & 1)
			n += offcpu_judge(set->soft[row].owner, out, in, stale, task);
	return n;
}

__noinline int offcpu_judge_cpu(struct abi_cpu *c, u64 out, u64 in, u64 stale)
{
	u32 rows = c ? c->offcpu : 0, n = 0;

	for (u32 row = 0; row < ABI_SOFT_ROWS && rows; row++, rows >>= 1)
		if (rows & 1)
			n += offcpu_judge(c->offcpu_place[row], out, in, stale, 0);
	return n;
}

__noinline int offcpu_judge_cgroups(u64 out, u64 in, u64 stale, u64 task)
{
	u32 running = offcpu_cgroups.running, n = 0;

	for (u32 i = 0; i < ABI_OFFCPU_CGROUPS && running; i++, running >>= 1)
		if (running & 1 && offcpu_cgroup_has(offcpu_cgroups.place[i], task))
			n += offcpu_judge(offcpu_cgroups.place[i], out, in, stale, 0);
	return n;
}

/* Puts a wait that began at `out` aside if it is a sample of a PMC.  `seen`: NULL, or its state. */
static __always_inline void offcpu_put(const struct concerned *pmcs, struct task_struct *task,
				       const struct thread_state *seen, u64 out, u64 now, u64 stale)
{
	struct abi_offcpu_wait *w;
	u32 samples = 0;

	if (pmcs->set_rows)
		samples += offcpu_judge_set(pmcs->set, out, now, stale,
					    offcpu_thread(pmcs, task));
	if (pmcs->cpu_rows)
		samples += offcpu_judge_cpu(pmcs->cpu, out, now, stale);
	if (pmcs->cgroups)
		samples += offcpu_judge_cgroups(out, now, stale, address_number(task));
	w = samples ? offcpu_slot() : NULL;
	if (!w)
		return;
	w->pid = task_process(task);
	offcpu_fill(w, task, seen, seen ? seen->state : TASK_INTERRUPTIBLE, out, now);
}

static __always_inline void offcpu_end(const struct concerned *pmcs, struct task_struct *task,
				       u64 now)
{
	struct thread_state new = { .time = now, .switches = task_switches(task) }, *t, *seen;
	u64 out, stale;

	t = thread_state(task);
	seen = t && t->off && t->switches == task_switches(task) ? t : NULL;
	out = task->start_time;
	barrier_var(out);
	if (seen)
		out = seen->time;
	/* Where some threads found no room, a thread without a state may be any of these. */
	stale = seen ? 0 : t ? t->time : offcpu_full ? ~0ull : 0;
	offcpu_put(pmcs, task, seen, out, now, stale);
	if (t)
		*t = new;
	else
		thread_state_add(task, &new);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_offcpu, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	u32 cpu = prev->thread_info.cpu;
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	bool dead = prev_state & TASK_DEAD, begins, ends;
	struct concerned out, in;
	u64 now, key = (u64)prev;

	if (!c)
		return 0;
	out = offcpu_concerned(c, prev);
	in = offcpu_concerned(c, next);
	if (dead) {
		offcpu_last(&out, prev);
		bpf_map_delete_elem(&offcpu_wakers, &key);
		if (offcpu_finals && index_lookup(task_process(prev)))
			final_switch(prev);
	}
	begins = !dead && (out.set_rows || out.cgroups || (offcpu_systems && prev->pid));
	ends = in.set_rows || in.cpu_rows || in.cgroups;
	if (!begins && !ends)
		return 0;
	now = bpf_ktime_get_ns();
	if (begins)
		offcpu_begin(&out, prev, preempt ? 0 : prev_state, now);
	if (ends)
		offcpu_end(&in, next, now);
	return 0;
}

/* --- threads that exit while no PMC samples waits --------------------------------------------- */

static long entry_forget(void *map, u32 *at, struct thread_entry *e, void *ctx)
{
	if (e->task)
		thread_entry_free(e);
	return 0;
}

static long thread_state_forget(void *map, u64 *task, void *value, void *ctx)
{
	bpf_map_delete_elem(map, task);
	return 0;
}

/* Run by the daemon when the program above has been detached. */
SEC("raw_tp")
int offcpu_forget(void *ctx)
{
	u32 unused = 0;

	bpf_for_each_map_elem(&offcpu_entries, entry_forget, &unused, 0);
	bpf_for_each_map_elem(&offcpu_threads, thread_state_forget, &unused, 0);
	bpf_for_each_map_elem(&offcpu_wakers, thread_state_forget, &unused, 0);
	offcpu_full = 0;
	return 0;
}

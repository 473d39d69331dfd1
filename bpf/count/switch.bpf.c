// SPDX-License-Identifier: GPL-2.0
/*
 * Process scope on free-running counters, by slices.
 *
 * Every CPU has at most one open slice: the set of PMCs of the process that runs there, and the
 * values of its sources when it was switched in.  At a context switch the slice of the previous
 * process is closed, which credits the differences to the PMCs' owners, and the slice of the next
 * process is opened.  A switch that does not change the set reads nothing, and one between two
 * processes that no PMC measures costs a few instructions.
 *
 * State is per CPU (struct abi_open, struct abi_cpu), written only on that CPU.  Three programs may
 * change a slice: the switch, an exec that moves the process to another set, and the daemon's
 * flush, which brings the open slice up to date.  A flush may interrupt an exec; `busy` then makes
 * the daemon flush again.
 *
 * Example: A, measured by PMC 1 on source 3, gives the CPU to B, which no PMC measures. on_switch()
 * finds set 0 for B and set 7 open; slice_change_plain() reads source 3, adds now - start to the
 * counts of PMC 1's owner for this CPU, and leaves no slice open.
 */
#include "final.bpf.h"
#include "slice.bpf.h"
#include "snapshot.bpf.h"

char LICENSE[] SEC("license") = "GPL";

struct cpus_map cpus SEC(".maps");
struct sets_map sets SEC(".maps");
struct targets_map targets SEC(".maps");
struct owners_map owners SEC(".maps");
struct dying_map dying SEC(".maps");

struct events_map events SEC(".maps");
struct notes_map notes SEC(".maps");
struct execs_map execs SEC(".maps");
struct clients_map clients SEC(".maps");
struct shares_map shares SEC(".maps");
struct thread_shares_map thread_shares SEC(".maps");
struct alone_threads_map alone_threads SEC(".maps");
struct sampled_threads_map sampled_threads SEC(".maps");
struct rings_map rings SEC(".maps");

__u32 target_index[ABI_INDEX_SIZE] = {};
struct abi_open open_slice[ABI_MAX_CPUS] __attribute__((aligned(64))) = {};
__u32 switches_watched = 0;
__u64 switches_hidden = 0;
__u64 switch_sources = 0;
__u32 tracepoint_switch = 0;
__u64 plain_sets[ABI_MAX_SETS / 64] = {};
const volatile bool reads_msr = false;
const volatile bool reads_counters = false;
const volatile bool nested = false;
const volatile bool faults_look = true;	/* page fault programs check the open slice first */
struct abi_level level = {};
struct abi_register registers[ABI_MSR_SOURCES] = {};
__u64 lost_sources = 0;
struct abi_account accounts[ABI_MAX_ACCOUNTS] = {};
struct abi_owner owner_state[ABI_MAX_OWNERS] = {};
__u64 exits_begun = 0, exits_done = 0;
__u32 finals = 0;
__u64 notes_lost = 0;
__u32 watch_execs = 0;
__u64 execs_put = 0, execs_lost = 0;
__u64 lost_records = 0;

/* --- switches that were hidden --------------------------------------------------------------- */

/*
 * True if all events of the source are in the right slice.  Page fault programs ensure that before
 * they count.  Any other source has counted nothing if its value is unchanged, but sources that
 * count switches may lack the hidden ones.
 */
static __always_inline bool source_kept(struct abi_cpu *c, u32 cpu, u32 source)
{
	switch (source) {
	case ABI_SOURCE_HOOK + ABI_HOOK_FAULT_READ:
	case ABI_SOURCE_HOOK + ABI_HOOK_FAULT_WRITE:
		if (faults_look)
			return true;
		break;
	case ABI_SOURCE_HOOK + ABI_HOOK_VOLUNTARY:
	case ABI_SOURCE_HOOK + ABI_HOOK_INVOLUNTARY:
		return false;
	}
	if (source >= ABI_SOURCE_TRACEPOINT)
		return source != ABI_SOURCE_TRACEPOINT - 1 + tracepoint_switch &&
		       tracepoint_read(c, tracepoint_slot(source)) ==
			       c->now[source & (ABI_ALL_SOURCES - 1)];
	return !(switch_sources >> source & 1) &&
	       source_read(c, cpu, source) == c->now[source & (ABI_ALL_SOURCES - 1)];
}

/* A member that may have missed events has lost a slice, and a record if it is logged. */
__noinline int member_lose(struct abi_cpu *c, u32 cpu, const struct abi_member *m, bool logged)
{
	struct abi_owner *owner;
	struct abi_counts *k;

	if (!c || !m || source_kept(c, cpu, m->source & (ABI_ALL_SOURCES - 1)))
		return 0;
	owner = owner_of(m->owner);
	__sync_fetch_and_or(&owner->missed, 1ull << (m->pos & 63));
	if (logged)
		__sync_fetch_and_add(&owner->lost_records, 1);
	c->lost |= ABI_LOST_SLICE;
	k = owner_counts(m->owner, cpu);
	if (k)
		k->open = ~0ull;
	return 0;
}

__noinline int members_lose(struct abi_cpu *c, u32 cpu, u32 set, u64 members)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	u32 logged;

	if (!c || !s)
		return 0;
	members &= s->due;
	logged = s->threads & ~s->alone;
	for (u32 i = 0; i < ABI_MAX_MEMBERS; i++)
		if (members >> i & 1)
			member_lose(c, cpu, &s->member[i], logged >> i & 1);
	return 0;
}

/*
 * `hidden` switches were hidden on this CPU, where a process of `set` runs, or ran until now.
 * While a CPU goes down or comes up, every kernel hides some from programs.
 */
__noinline int slice_missed(u32 cpu, u32 set, u32 hidden)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u32 open = open_of(cpu)->set & ~ABI_OPEN_THREADS;

	if (!c || !switches_watched)
		return 0;
	if (c->away != ABI_CPU_AWAY && !__sync_fetch_and_add(&switches_hidden, hidden))
		note(ABI_NOTE_HIDDEN, 0, 0, 0);
	if (open)
		members_lose(c, cpu, open, c->members);
	if (set && set != open)
		members_lose(c, cpu, set, ~0ull);
	return 0;
}

/* Checks for hidden switches at any other moment, while a process of `set` runs. */
static __always_inline u32 slice_look(u32 cpu, u32 set, struct task_struct *task)
{
	u32 hidden = seen_task(open_of(cpu), task);

	if (hidden)
		slice_missed(cpu, set, hidden);
	return hidden;
}

/* --- programs -------------------------------------------------------------------------------- */

/* Any switch: `set` is the next process's, and `hidden` switches were hidden before. */
static __noinline int switch_any(unsigned long long *ctx, u32 set, u32 hidden)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 cpu = prev->thread_info.cpu, prev_state = ctx[3];
	struct abi_open *o = open_of(cpu);

	if (hidden)
		slice_missed(cpu, index_lookup(task_process(prev)), hidden);
	if (o->set != set)
		slice_change(cpu, set, prev, next, 1 + switch_kind(ctx[0], prev_state));
	seen_outside(o, next);
	/* Even without an open slice: a kernel may have hidden the switch to the thread. */
	if (prev_state & TASK_DEAD && index_lookup(task_process(prev)))
		final_switch(prev);
	return 0;
}

/* The usual switch from or to a target: functions of their own for what saves more registers. */
static __noinline int switch_slices(unsigned long long *ctx)
{
	struct task_struct *prev = (void *)ctx[1], *next = (void *)ctx[2];
	u32 cpu = prev->thread_info.cpu, set = index_lookup(task_process(next)), kind;
	struct abi_open *o = open_of(cpu);
	u32 hidden = seen_switch(o, prev, next), from = o->set;

	if (hidden || ctx[3] & TASK_DEAD || (from != set && !slice_is_plain(from, set)))
		return switch_any(ctx, set, hidden);
	kind = switch_kind(ctx[0], ctx[3]);
	if (from != set)
		slice_change_plain(cpu, from | set, next->pid, -(u64)!!from, 1 + kind);
	seen_outside(o, next);
	return 0;
}

/*
 * A switch between two tasks that no PMC measures ends here: it calls nothing, and so saves no
 * registers.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct abi_open *o = open_of(prev->thread_info.cpu);

	if (o->outside != (u64)prev || target_index[next->tgid & (ABI_INDEX_SIZE - 1)] ||
	    prev_state & TASK_DEAD)
		return switch_slices(ctx);
	o->outside = (u64)next;
	return 0;
}

/*
 * If only CPU time is counted there are no slices, but the last part still arrives with the last
 * switch.  This program sees it where the scheduler releases a dead task, at no cost to other
 * switches.  That function has other callers, too, while the task may still be running.
 */
SEC("fentry/put_task_struct_rcu_user")
int BPF_PROG(on_dead, struct task_struct *task)
{
	if (!task_on_cpu(task) && index_lookup(task_process(task)))
		final_switch(task);
	return 0;
}

/* For kernels where no program can attach to functions; on_offcpu() does the same. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_final, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	if (prev_state & TASK_DEAD && index_lookup(task_process(prev)))
		final_switch(prev);
	return 0;
}

/*
 * An exec has moved a target to another set: ends the slice of the old image; a flush that
 * interrupts this must be repeated.  Defined here because libbpf cannot link two objects that call
 * the same function of a module.
 */
__noinline int slice_end(u32 from, u32 to)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u32 hidden;

	if (!c)
		return 0;
	__sync_lock_test_and_set(&c->busy, 1);
	hidden = slice_look(cpu, from, task);
	if (hidden || (open_of(cpu)->set & ~ABI_OPEN_THREADS) == from) {
		slice_change(cpu, to, task, task, 0);
		seen_outside(open_of(cpu), task);
	}
	__sync_lock_test_and_set(&c->busy, 0);
	return 0;
}

/* Called by a task before it counts an event: begins the task's slice if it has none. */
__noinline int slice_catch_up(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 cpu = bpf_get_smp_processor_id(), set = index_lookup(task_process(task));
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (!c)
		return 0;
	__sync_lock_test_and_set(&c->busy, 1);
	if (slice_look(cpu, set, task)) {
		slice_change(cpu, set, task, task, 0);
		seen_outside(open_of(cpu), task);
	}
	__sync_lock_test_and_set(&c->busy, 0);
	return 0;
}

/* In cgroup.bpf.c. */
extern int cgroup_flush(void);

/* Brings the counts of this CPU's process up to date, unless it interrupts a changing slice. */
static __always_inline void flush_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	u32 set = index_lookup(task_process(task));

	if (!c)
		return;
	counters_try_new(c, cpu);
	cgroup_flush();
	c->again = c->busy;
	if (c->busy)
		return;
	slice_look(cpu, set, task);
	slice_change(cpu, set, task, task, 0);
	seen_outside(open_of(cpu), task);
	snapshot_take(cpu);
}

/* Run by the daemon on a chosen CPU. */
SEC("raw_tp")
int flush(void *ctx)
{
	flush_here();
	return 0;
}

/*
 * The same for slices that read registers.  Before Linux 7 no program for a chosen CPU may call a
 * module, but a program attached to it may: see poke.bpf.c.
 */
SEC("fentry/poke")
int flush_poked(void *ctx)
{
	flush_here();
	return 0;
}

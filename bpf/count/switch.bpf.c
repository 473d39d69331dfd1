// SPDX-License-Identifier: GPL-2.0
/*
 * Process scope on free-running counters: at a context switch the slice of the process that leaves
 * is closed and that of the process that comes is opened.  A switch that does not change the set of
 * PMCs reads nothing, and one between two processes nobody measures is over after a few
 * instructions.
 */
#include "slice.bpf.h"

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
struct rings_map rings SEC(".maps");

__u32 target_index[ABI_INDEX_SIZE] = {};
struct abi_open open_slice[ABI_MAX_CPUS] __attribute__((aligned(64))) = {};
__u32 switches_watched = 0;
__u64 switches_hidden = 0;
__u64 switch_sources = 0;
const volatile bool reads_msr = false;
const volatile bool nested = false;
const volatile bool faults_look = true;	/* whose slice is open, before they count */
struct abi_level level = {};
struct abi_register registers[ABI_MSR_SOURCES] = {};
__u64 lost_sources = 0;
struct abi_account accounts[ABI_MAX_ACCOUNTS] = {};
struct abi_owner owner_state[ABI_MAX_OWNERS] = {};
__u64 exits_begun = 0, exits_done = 0;
__u32 finals = 0;
__u64 notes_lost = 0;
__u32 watch_execs = 0;
__u64 execs_put = 0;
__u64 execs_lost = 0;
__u64 lost_records = 0;

#define TASK_DEAD 0x80

/*
 * The last switch of an exited thread: the CPU time since its exit hook belongs to its process, and
 * with the last thread's the process is done.
 */
static __always_inline void final_switch(struct task_struct *prev)
{
	u32 tid = prev->pid, tgid = task_process(prev);
	struct dying *d = bpf_map_lookup_elem(&dying, &tid);
	struct abi_target *t = bpf_map_lookup_elem(&targets, &tgid);
	u64 tail = d ? prev->se.sum_exec_runtime - d->ns : 0;
	struct abi_set *s;
	u32 set;

	if (d)
		bpf_map_delete_elem(&dying, &tid);
	if (!t)
		return;
	if (!(t->state & ABI_STATE_EXIT)) {
		__sync_fetch_and_add(&t->dead_ns, tail);
		return;
	}
	set = ABI_STATE_SET(t->state);
	s = bpf_map_lookup_elem(&sets, &set);
	for (u32 row = 0; s && tail && row < ABI_SOFT_ROWS; row++)
		if (t->state >> row & 1 && s->soft[row].used &&
		    s->soft[row].quantity == ABI_Q_CPU_NS)
			counts_add(s->soft[row].owner, s->soft[row].pos, tail);
	if (t->last == tid) {
		if (s && s->logs)
			exit_log(set, tgid);
		target_remove(tgid, set);
	}
}

/*
 * Is all that the source has counted in the right slice?  The programs of page faults see to that
 * before they count.  Other sources have counted nothing if they stand where they were read last,
 * unless they count switches: the hidden ones may be missing there as well.
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
	return !(switch_sources >> source & 1) && source_read(c, cpu, source) == c->now[source];
}

static __always_inline void members_lose(struct abi_cpu *c, u32 cpu, u32 set, u64 members)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	struct abi_counts *k;

	if (!s)
		return;
	members &= s->due;
	for (u32 i = 0; i < ABI_MAX_MEMBERS && members; i++, members >>= 1) {
		const struct abi_member *m = &s->member[i];
		struct abi_owner *owner = owner_of(m->owner);

		if (!(members & 1) || source_kept(c, cpu, m->source & 63))
			continue;
		__sync_fetch_and_or(&owner->missed, 1ull << (m->pos & 63));
		if (s->logs >> i & 1)
			__sync_fetch_and_add(&owner->lost_records, 1);
		c->lost |= ABI_LOST_SLICE;
		k = owner_counts(m->owner, cpu);
		if (k)
			k->open = ~0ull;
	}
}

/*
 * So many switches were hidden on this CPU, and a process of `set` runs now, or has until now.  A
 * CPU that is on its way down or up hides some from every kernel's programs.
 */
__noinline int slice_missed(u32 cpu, u32 set, u32 hidden)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u32 open = open_of(cpu)->set & ~ABI_OPEN_LOGGED;

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

/* The same at any moment but a switch, if there were any: while a process of `set` runs. */
static __always_inline u32 slice_look(u32 cpu, u32 set, struct task_struct *task)
{
	u32 hidden = seen_task(open_of(cpu), task);

	if (hidden)
		slice_missed(cpu, set, hidden);
	return hidden;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	u32 cpu = prev->thread_info.cpu, set = index_lookup(task_process(next));
	struct abi_open *o = open_of(cpu);
	u32 hidden = seen_switch(o, prev, next);

	if (hidden)
		slice_missed(cpu, index_lookup(task_process(prev)), hidden);
	if (o->set != set)
		slice_change(cpu, set, next, 1 + switch_kind(preempt, prev_state));
	/* Whether or not its slice is open: a kernel may have left out the switch to it. */
	if (prev_state & TASK_DEAD && index_lookup(task_process(prev)))
		final_switch(prev);
	return 0;
}

/*
 * Where only CPU time is counted no slice exists, but its last bit still comes with the last
 * switch.  Best seen where the scheduler lets go of a dead task, which costs other switches
 * nothing; the function is called from elsewhere as well, then the task may still be running.
 */
SEC("fentry/put_task_struct_rcu_user")
int BPF_PROG(on_dead, struct task_struct *task)
{
	if (!task_on_cpu(task) && index_lookup(task_process(task)))
		final_switch(task);
	return 0;
}

/* Where the kernel does not let programs onto functions. */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_final, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	if (prev_state & TASK_DEAD && index_lookup(task_process(prev)))
		final_switch(prev);
	return 0;
}

/*
 * An exec has made a target a member of another set: the slice in progress belongs to the old
 * image; a flush that interrupts this is sent away.  Here, because libbpf cannot link two objects
 * that call the same function of a module.
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
	if (hidden || (open_of(cpu)->set & ~ABI_OPEN_LOGGED) == from)
		slice_change(cpu, to, task, 0);
	__sync_lock_test_and_set(&c->busy, 0);
	return 0;
}

/*
 * A task that runs without its slice has found out, before it counts something: from here on the
 * slice is its own.
 */
__noinline int slice_catch_up(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	u32 cpu = bpf_get_smp_processor_id(), set = index_lookup(task_process(task));
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);

	if (!c)
		return 0;
	__sync_lock_test_and_set(&c->busy, 1);
	if (slice_look(cpu, set, task))
		slice_change(cpu, set, task, 0);
	__sync_lock_test_and_set(&c->busy, 0);
	return 0;
}

/*
 * Brings the counts of whoever runs on this CPU up to date.  It may interrupt an exec that changes
 * the slice; then it is for the daemon to ask again.
 */
static __always_inline void flush_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct task_struct *task;
	u32 set;

	if (!c)
		return;
	c->again = c->busy;
	if (c->busy)
		return;
	task = bpf_get_current_task_btf();
	set = index_lookup(task_process(task));
	slice_look(cpu, set, task);
	slice_change(cpu, set, task, 0);
}

/* Run by the daemon on a CPU. */
SEC("raw_tp")
int flush(void *ctx)
{
	flush_here();
	return 0;
}

/*
 * The same where slices read registers: before Linux 7 such a program, which alone can be run on a
 * CPU of one's choice, may not call a module.  One that is hooked onto it may: see poke.bpf.c.
 */
SEC("fentry/poke")
int flush_poked(void *ctx)
{
	flush_here();
	return 0;
}

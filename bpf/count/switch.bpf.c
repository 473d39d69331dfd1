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
 * finds set 0 for B and set 7 open; slice_close() reads source 3 and adds now - start to the counts
 * of PMC 1's owner for this CPU; slice_open() leaves no slice open.
 */
#include "slice_log.bpf.h"
#include "seen.bpf.h"
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
struct rings_map rings SEC(".maps");

__u32 target_index[ABI_INDEX_SIZE] = {};
struct abi_open open_slice[ABI_MAX_CPUS] __attribute__((aligned(64))) = {};
__u32 switches_watched = 0;
__u64 switches_hidden = 0;
__u64 switch_sources = 0;
__u32 tracepoint_switch = 0;
const volatile bool reads_msr = false;
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

#define TASK_DEAD 0x80

/* --- closing and opening slices -------------------------------------------------------------- */

/*
 * The companion module's function, see kmod/pmcbpf_msr.h.  If reads_msr is false, the verifier does
 * not reach the call.
 */
extern __u64 pmcbpf_msr_read(__u32 reg) __weak __ksym;

/*
 * A lost counter reads as an error: its count stands still, and the reader is notified.  The same
 * holds for a CPU that has come online and has no event, or a dead one, until the daemon opens one.
 * If the daemon removed the source, another kind of event counts instead.
 */
static __always_inline u64 source_lost(struct abi_cpu *c, u32 source)
{
	if (!(c->out >> (source & 63) & 1)) {
		__sync_fetch_and_or(&lost_sources, 1ull << (source & 63));
		__sync_fetch_and_or(&c->lost, 1ull << (source & 63));
	}
	return c->start[source & 63];
}

/*
 * A register with fewer than 64 bits is extended from its last value on this CPU, so that all
 * arithmetic on sources is in 64 bits.
 */
static __always_inline u64 register_read(struct abi_cpu *c, u32 source)
{
	const struct abi_register *r = &registers[source % ABI_MSR_SOURCES];
	u64 now = pmcbpf_msr_read(r->reg), last = c->now[source & 63];

	return now == ~0ull ? source_lost(c, source) : last + ((now - last) & r->mask);
}

/*
 * The hits of a tracepoint on this CPU.  The kernel skips a program that is running on the CPU
 * already, and counts what that misses.  Neither inlined nor static, so that the verifier checks
 * this once, not in each round of the loops.
 */
__noinline u64 tracepoint_read(u32 cpu, u32 source)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u32 slot = source;
	u64 misses = 0;

	barrier_var(slot);	/* or the compiler hides the bounds from the verifier */
	slot &= ABI_TRACEPOINTS - 1;
	if (!c)
		return 0;
	if (c->misses[slot])
		bpf_probe_read_kernel(&misses, sizeof(misses), (void *)c->misses[slot]);
	return c->hits[slot] + misses + (c->hit_due == 1 + slot);
}

/* The same once in a change of slices: see source_refresh(). */
__noinline int tracepoint_refresh(u32 cpu, u32 source)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u32 slot = source;

	barrier_var(slot);
	slot &= ABI_TRACEPOINTS - 1;
	if (!c || c->fresh >> slot & 1)
		return 0;
	c->fresh |= 1ull << slot;
	c->now[ABI_SOURCE_TRACEPOINT + slot] = tracepoint_read(cpu, source);
	return 0;
}

static __always_inline u64 source_read(struct abi_cpu *c, u32 cpu, u32 source)
{
	u64 now;

	if (source >= ABI_SOURCE_HOOK)
		return c->hook[source & 7] + (c->due == 1 + (source & 7));
	if (reads_msr && source >= ABI_SOURCE_MSR)
		return register_read(c, source);
	now = bpf_perf_event_read(&events, ABI_EVENT(cpu, source));
	return now > (u64)-4096 ? source_lost(c, source) : now;
}

/*
 * Reads a source into `now` once in a change of slices, because members share sources, and because
 * a slice begins where the last one ends.  `fresh` and c->fresh have the sources that were read.
 */
static __always_inline u64 source_refresh(struct abi_cpu *c, u32 cpu, u32 source, u64 fresh)
{
	if (source >= ABI_SOURCE_TRACEPOINT) {
		tracepoint_refresh(cpu, source);
		return fresh;
	}
	if (!(fresh >> source & 1))
		c->now[source] = source_read(c, cpu, source);
	return fresh | 1ull << source;
}

/* Credits one member of the open slice; members may share a source, which is read once. */
static __always_inline u64 member_credit(struct abi_cpu *c, u32 cpu, const struct abi_member *m,
					 struct abi_counts *k, u64 fresh)
{
	u32 source = m->source & (ABI_ALL_SOURCES - 1), pos = m->pos;

	fresh = source_refresh(c, cpu, source, fresh);
	if (k && pos < ABI_COUNTS)
		k->count[pos] += c->now[source] - c->start[source];
	return fresh;
}

/*
 * What is done for each member is a function of its own, neither inlined nor static: the verifier
 * checks such a function once in a program, and not again on every path to every member.  Most sets
 * have one member, which saves the call.
 */
__noinline u64 member_close(struct abi_cpu *c, u32 cpu, const struct abi_member *m,
			    struct abi_counts *k, u64 fresh)
{
	return c && m ? member_credit(c, cpu, m, k, fresh) : fresh;
}

/*
 * Once a source or a slice is lost, readers of this CPU's counts must ask the daemon, which knows
 * the PMCs concerned.
 */
static __always_inline u64 slice_ended(const struct abi_cpu *c)
{
	return c->lost ? ~0ull : 0;
}

/* The same for a member of a set with several owners, whose counts are looked up first. */
__noinline u64 member_close_mixed(struct abi_cpu *c, u32 cpu, const struct abi_member *m, u64 fresh)
{
	struct abi_counts *k;

	if (!c || !m)
		return fresh;
	k = owner_counts(m->owner, cpu);
	fresh = member_close(c, cpu, m, k, fresh);
	if (k)
		k->open = slice_ended(c);
	return fresh;
}

__noinline u64 slice_close_mixed(struct abi_cpu *c, u32 cpu, u32 set)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);
	u64 members, fresh = 0;

	if (!c || !s)
		return 0;
	members = c->members;
	for (u32 i = 0; i < ABI_MAX_MEMBERS && members; i++, members >>= 1)
		if (members & 1)
			fresh = member_close_mixed(c, cpu, &s->member[i], fresh);
	return fresh;
}

/*
 * Credits the open slice.  Returns the sources read, with their values in `now`.  Nearly always one
 * owner has all PMCs of a set; its counts are then looked up once.
 */
static __always_inline u64 slice_close(struct abi_cpu *c, u32 cpu)
{
	u32 set = open_of(cpu)->set & ~ABI_OPEN_LOGGED;
	u64 members = c->members, fresh = 0;
	struct abi_counts *k;
	struct abi_set *s;

	s = bpf_map_lookup_elem(&sets, &set);
	if (!s)
		return 0;
	if (s->owner == ABI_OWNERS_MIXED)
		return slice_close_mixed(c, cpu, set);
	k = owner_counts(s->owner, cpu);
	if (!k)
		return 0;
	if (members & 1)
		fresh = member_credit(c, cpu, &s->member[0], k, 0);
	members >>= 1;
	for (u32 i = 1; i < ABI_MAX_MEMBERS && members; i++, members >>= 1)
		if (members & 1)
			fresh = member_close(c, cpu, &s->member[i], k, fresh);
	k->open = slice_ended(c);
	return fresh;
}

/* Records the value of a member's source at the beginning of a slice. */
static __always_inline u64 member_begin(struct abi_cpu *c, u32 cpu, const struct abi_member *m,
					u64 fresh)
{
	u32 source = m->source & (ABI_ALL_SOURCES - 1);

	fresh = source_refresh(c, cpu, source, fresh);
	c->start[source] = c->now[source];
	return fresh;
}

__noinline u64 member_open(struct abi_cpu *c, u32 cpu, const struct abi_member *m, u64 fresh)
{
	return c && m ? member_begin(c, cpu, m, fresh) : fresh;
}

/* Marks the members' counts as moving, where they have several owners. */
__noinline int member_open_mixed(const struct abi_member *m, u32 cpu)
{
	struct abi_counts *k = m ? owner_counts(m->owner, cpu) : NULL;

	if (k)
		k->open |= 1ull << (m->pos & 63);
	return 0;
}

__noinline int slice_open_mixed(u32 cpu, u32 set, u64 members)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	for (u32 i = 0; s && i < ABI_MAX_MEMBERS; i++)
		if (members >> i & 1)
			member_open_mixed(&s->member[i], cpu);
	return 0;
}

/* Marks the members' counts as moving and records the values of their sources. */
static __always_inline void slice_open(struct abi_cpu *c, u32 cpu, u32 set,
				       struct task_struct *task, u64 fresh)
{
	struct abi_open *o = open_of(cpu);
	struct abi_counts *k;
	struct abi_set *s;
	u64 members;

	o->set = set;
	c->members = 0;
	if (!set)
		return;
	s = bpf_map_lookup_elem(&sets, &set);
	if (!s)
		return;
	c->members = members = s->active;
	if (s->logs) {
		o->set = set | ABI_OPEN_LOGGED;
		c->tgid = task_process(task);
		c->tid = task_thread(task);
	}
	if (!members)
		return;
	if (s->owner == ABI_OWNERS_MIXED) {
		slice_open_mixed(cpu, set, members);
	} else {
		k = owner_counts(s->owner, cpu);
		if (k)
			k->open = s->open | slice_ended(c);
	}
	if (members & 1)
		fresh = member_begin(c, cpu, &s->member[0], fresh);
	members >>= 1;
	for (u32 i = 1; i < ABI_MAX_MEMBERS && members; i++, members >>= 1)
		if (members & 1)
			fresh = member_open(c, cpu, &s->member[i], fresh);
}

/*
 * `due` is 1 + the hook that counts this very switch, or 0.  A switch belongs to the slice that it
 * ends, even if the program that counts switches runs after this one.  `last` had the CPU.
 */
static __always_inline void slice_change(u32 cpu, u32 set, struct task_struct *last,
					 struct task_struct *task, u32 due)
{
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	u32 open = open_of(cpu)->set;
	u64 fresh = 0;

	if (!c)
		return;
	c->due = c->kind_next == (u32)task->pid ? 0 : due;
	c->hit_due = due && c->hit_next != (u32)task->pid ? tracepoint_switch : 0;
	c->fresh = 0;
	if (c->members)
		fresh = slice_close(c, cpu);
	if (open & ABI_OPEN_LOGGED)
		slice_record(c, open & ~ABI_OPEN_LOGGED, cpu, last);
	slice_open(c, cpu, set, task, fresh);
	c->due = c->hit_due = 0;
}

/* --- last switches --------------------------------------------------------------------------- */

__noinline int final_add(u32 set, u64 rows, u64 tail)
{
	struct abi_set *s = bpf_map_lookup_elem(&sets, &set);

	for (u32 row = 0; s && row < ABI_SOFT_ROWS; row++)
		if (rows >> row & 1 && s->soft[row].used && s->soft[row].quantity == ABI_Q_CPU_NS)
			counts_add(s->soft[row].owner, s->soft[row].pos, tail);
	return 0;
}

/*
 * The last switch of an exited thread: adds the CPU time since its exit hook to its process, which
 * is complete with its last thread.  A PMC may be stopped in between: the side that clears its bit
 * adds the time, and then this function deletes the entry of `dying`.
 */
static __always_inline void final_switch(struct task_struct *prev)
{
	u32 tid = prev->pid, tgid = task_process(prev);
	struct dying *d = bpf_map_lookup_elem(&dying, &tid);
	struct abi_target *t = bpf_map_lookup_elem(&targets, &tgid);
	u64 rows, tail = d ? prev->se.sum_exec_runtime - d->ns : 0;
	bool last = t && t->last == tid;
	struct abi_set *s;
	u32 set;

	if (t)
		thread_log(ABI_STATE_SET(t->state), d ? d->tid : task_thread(prev));
	if (t && t->state & ABI_STATE_EXIT) {
		__sync_fetch_and_add(&exits_begun, 1);
		set = ABI_STATE_SET(t->state);
		s = bpf_map_lookup_elem(&sets, &set);
		rows = last ? __sync_fetch_and_and(&t->state, ~(u64)ABI_STATE_SOFT) : t->state;
		if (tail)
			final_add(set, rows, tail);
		if (s && last && s->logs)
			exit_log(set, tgid);
		__sync_fetch_and_add(&exits_done, 1);
	} else if (t) {
		__sync_fetch_and_add(&t->dead_ns, tail);
	}
	if (d)
		bpf_map_delete_elem(&dying, &tid);
	if (last && t->state & ABI_STATE_EXIT)
		target_remove(tgid, ABI_STATE_SET(t->state));
}

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
		       tracepoint_read(cpu, source) == c->now[source & (ABI_ALL_SOURCES - 1)];
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

	if (!c || !s)
		return 0;
	members &= s->due;
	for (u32 i = 0; i < ABI_MAX_MEMBERS; i++)
		if (members >> i & 1)
			member_lose(c, cpu, &s->member[i], s->logs >> i & 1);
	return 0;
}

/*
 * `hidden` switches were hidden on this CPU, where a process of `set` runs, or ran until now.
 * While a CPU goes down or comes up, every kernel hides some from programs.
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

/* Checks for hidden switches at any other moment, while a process of `set` runs. */
static __always_inline u32 slice_look(u32 cpu, u32 set, struct task_struct *task)
{
	u32 hidden = seen_task(open_of(cpu), task);

	if (hidden)
		slice_missed(cpu, set, hidden);
	return hidden;
}

/* --- programs -------------------------------------------------------------------------------- */

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
		slice_change(cpu, set, prev, next, 1 + switch_kind(preempt, prev_state));
	/* Even without an open slice: a kernel may have hidden the switch to the thread. */
	if (prev_state & TASK_DEAD && index_lookup(task_process(prev)))
		final_switch(prev);
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

/* For kernels where no program can attach to functions. */
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
	if (hidden || (open_of(cpu)->set & ~ABI_OPEN_LOGGED) == from)
		slice_change(cpu, to, task, task, 0);
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
	if (slice_look(cpu, set, task))
		slice_change(cpu, set, task, task, 0);
	__sync_lock_test_and_set(&c->busy, 0);
	return 0;
}

/* Brings the counts of this CPU's process up to date, unless it interrupts a changing slice. */
static __always_inline void flush_here(void)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct abi_cpu *c = bpf_map_lookup_elem(&cpus, &cpu);
	struct task_struct *task = bpf_get_current_task_btf();
	u32 set = index_lookup(task_process(task));

	if (!c)
		return;
	c->again = c->busy;
	if (c->busy)
		return;
	slice_look(cpu, set, task);
	slice_change(cpu, set, task, task, 0);
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
